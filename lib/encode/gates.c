/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Leads calls of a library's own exported functions through gates: see gates.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "encode/gates.h"
#include "elf/x86.h"

#define NONE NUMBERING_NO_CALLEE
#define FIELD 3 /* of lea, cmp, mov and jmp through a pointer: the last four bytes */
#define LEN 7	/* of all of these */
#define CMP (PCCE_GATE_TEST + LEN)
#define JNE (CMP + LEN)
#define SET (PCCE_GATE_TARGET - FIELD)

static bool is_gate(const struct callgraph_func *f)
{
	return f->block_flags & PCCE_BLOCK_GATE;
}

static int refuse_gate(const char *name, struct error *why)
{
	return error_set(why, -EINVAL,
			 "has a damaged gate of '%s', or lost its encoding table; link it again",
			 name);
}

/* ---- which calls ------------------------------------------------------------------- */

/* Notes for each function with a gate which one it is. */
static void find_gates(const struct callgraph *cg, uint32_t *gate_of)
{
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *s = &cg->sites[i];

		if (s->flags & PCCE_SITE_TAIL && s->target == CALLGRAPH_INSIDE &&
		    is_gate(&cg->funcs[s->func]))
			gate_of[s->callee] = s->func;
	}
}

/*
 * All calls through one gate use one GOT slot and one stub, so that the gate tells where they led
 * before. Another stub of the same function is possible, but rare: its calls remain pushes.
 */
static bool agrees_with_gate(struct callgraph_gate *g, const struct callgraph_link *l)
{
	if ((g->slot && g->slot != l->slot) || (l->stub && g->stub && g->stub != l->stub))
		return false;
	g->slot = l->slot;
	g->own = l->own;
	if (l->stub)
		g->stub = l->stub;
	return true;
}

static void lead_through_gate(struct callgraph *cg, const struct elf_module *m,
			      const uint32_t *gate_of, struct callgraph_site *s)
{
	const uint32_t no = PCCE_SITE_LEAF | PCCE_SITE_SPILL_REGS | PCCE_SITE_RETURNS_TWICE;
	uint32_t func, gate;

	if (s->target != CALLGRAPH_OUTSIDE || !s->link.own || !s->link.field || s->flags & no)
		return;
	func = callgraph_entered_at(cg, m, s->link.own);
	gate = func == NONE || cg->funcs[func].fixed_entry ? NONE : gate_of[func];
	if (gate == NONE || !agrees_with_gate(&cg->funcs[gate].gate, &s->link))
		return;
	s->target = CALLGRAPH_INSIDE;
	s->callee = gate;
	s->gated = true;
}

/*
 * A push through a slot names a symbol. If that is another name of the module's own function, or if
 * the function may tail-call what is not known, the name does not tell where the call leads.
 */
static void forget_callee(const struct callgraph *cg, const struct elf_module *m,
			  const struct numbering *n, struct callgraph_site *s)
{
	uint32_t func;

	if (s->target != CALLGRAPH_OUTSIDE || !s->callee_name ||
	    s->flags & (PCCE_SITE_TAIL | PCCE_SITE_LEAF))
		return;
	func = s->link.own ? callgraph_entered_at(cg, m, s->link.own) : NONE;
	if (s->link.ifunc)
		s->flags |= PCCE_SITE_INDIRECT;
	if (func != NONE && (n->tail_out[func] || strcmp(cg->funcs[func].name, s->callee_name)))
		s->flags |= PCCE_SITE_INDIRECT;
}

/* Only this file leads calls to gates. */
static int check_calls(const struct callgraph *cg, struct error *why)
{
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *s = &cg->sites[i];

		if (s->target == CALLGRAPH_INSIDE && is_gate(&cg->funcs[s->callee]) && !s->gated)
			return refuse_gate(cg->funcs[s->callee].name, why);
	}
	return 0;
}

/* A function that nothing calls would be a root, and so would the function that it tail-calls. The
 * parts of such gates remain for a while, without a function. */
static void drop_unused(struct callgraph *cg, uint32_t *number)
{
	uint32_t n = 0;

	for (uint32_t f = 0; f < cg->n_funcs; f++) {
		number[f] = is_gate(&cg->funcs[f]) && !cg->funcs[f].gate.slot ? NONE : n;
		if (number[f] != NONE)
			cg->funcs[n++] = cg->funcs[f];
	}
	cg->n_funcs = n;
	n = 0;
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		struct callgraph_site *s = &cg->sites[i];

		if (number[s->func] == NONE)
			continue;
		s->func = number[s->func];
		if (s->target == CALLGRAPH_INSIDE)
			s->callee = number[s->callee];
		cg->sites[n++] = *s;
	}
	cg->n_sites = n;
	for (uint32_t i = 0; i < cg->n_parts; i++)
		cg->parts[i].func = number[cg->parts[i].func];
}

void gates_drop_parts(struct callgraph *cg)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < cg->n_parts; i++)
		if (cg->parts[i].func != NONE)
			cg->parts[n++] = cg->parts[i];
	cg->n_parts = n;
}

int gates_find(struct callgraph *cg, const struct elf_module *m, struct error *why)
{
	uint32_t *gate_of = malloc(((size_t)cg->n_funcs + 1) * sizeof(*gate_of));
	int err;

	if (!gate_of)
		return error_memory(why);
	for (uint32_t f = 0; f < cg->n_funcs; f++)
		gate_of[f] = NONE;
	find_gates(cg, gate_of);
	for (uint32_t i = 0; i < cg->n_sites; i++)
		lead_through_gate(cg, m, gate_of, &cg->sites[i]);
	err = check_calls(cg, why);
	if (!err)
		drop_unused(cg, gate_of);
	free(gate_of);
	return err;
}

/* A gate keeps the id. So nothing may lead there that leaves it to the entry slot to set the id: a
 * push, or a tail call in a function that only pushes lead to. */
static bool needs_entry_slot(const struct numbering *n, const struct callgraph_site *s)
{
	return n->kind[s->edge] == NUMBERED_PUSH ||
	       (n->kind[s->edge] == NUMBERED_TAIL && n->tail_out[s->func]);
}

void gates_leave_pushes(struct callgraph *cg, const struct elf_module *m, const struct numbering *n)
{
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		struct callgraph_site *s = &cg->sites[i];

		if (s->gated && needs_entry_slot(n, s)) {
			s->target = CALLGRAPH_OUTSIDE;
			s->callee = NONE;
			s->gated = false;
		}
		forget_callee(cg, m, n, s);
	}
}

/* ---- code -------------------------------------------------------------------------- */

static int put_distance(uint8_t *field, uint64_t end, uint64_t target)
{
	int64_t distance = (int64_t)(target - end);
	int32_t rel = (int32_t)distance;

	memcpy(field, &rel, sizeof(rel));
	return rel == distance ? 0 : -ERANGE;
}

/* An instruction of 3 bytes, and the distance of what it names. */
static int make_relative(uint8_t *code, size_t at, uint64_t vaddr, const char *bytes,
			 uint64_t target)
{
	memcpy(code + at, bytes, FIELD);
	return put_distance(code + at + FIELD, vaddr + at + LEN, target);
}

/*
 *	lea   own(%rip), %r11
 *	cmp   %r11, slot(%rip)
 *	jne   behind the jump
 *	lea   target of the jump(%rip), %r11
 *	mov   %r11, pointer(%rip)
 *	jmp   target
 *
 * The pointer is that of the jump through it at the gate's start.
 */
static int make_test(uint8_t *code, uint64_t vaddr, const struct callgraph_gate *g)
{
	uint64_t end = vaddr + PCCE_GATE_JUMP + PCCE_GATE_JUMP_BYTES,
		 target = end + (uint64_t)x86_load_rel32(code + PCCE_GATE_JUMP + 1),
		 pointer = vaddr + LEN + (uint64_t)x86_load_rel32(code + FIELD);

	code[JNE] = 0x75;
	code[JNE + 1] = PCCE_GATE_JUMP + PCCE_GATE_JUMP_BYTES - SET;
	return make_relative(code, PCCE_GATE_TEST, vaddr, "\x4c\x8d\x1d", g->own) ||
			       make_relative(code, CMP, vaddr, "\x4c\x39\x1d", g->slot) ||
			       make_relative(code, SET, vaddr, "\x4c\x8d\x1d", target) ||
			       make_relative(code, SET + LEN, vaddr, "\x4c\x89\x1d", pointer)
		       ? -ERANGE
		       : 0;
}

/* A call of the stub, with a prefix of no effect, or through the slot. */
static int make_call(uint8_t *code, uint64_t vaddr, const struct callgraph_gate *g)
{
	memcpy(code, g->stub ? "\x67\xe8" : "\xff\x15", 2);
	return put_distance(code + 2, vaddr + PCCE_GATE_CALL_BYTES, g->stub ? g->stub : g->slot);
}

static int patch_gate(const struct elf_module *m, const struct callgraph_func *f, uint8_t *image,
		      struct error *why)
{
	const uint8_t *code = elf_module_at(m, f->addr, PCCE_GATE_SIZE);
	uint8_t *out;

	if (!code || !x86_only_nops(code + PCCE_GATE_TEST, PCCE_GATE_TEST_BYTES) ||
	    !x86_only_nops(code + PCCE_GATE_CALL, PCCE_GATE_CALL_BYTES))
		return refuse_gate(f->name, why);
	out = image + (code - m->image);
	if (make_test(out, f->addr, &f->gate) ||
	    make_call(out + PCCE_GATE_CALL, f->addr + PCCE_GATE_CALL, &f->gate))
		return error_set(why, -EINVAL, "is too large: '%s' is 2 GiB away from its data",
				 f->name);
	return 0;
}

/* Leads a call or jump to the gate. An instruction that goes through the slot becomes one that
 * names the address, as linkers rewrite it. */
static int patch_call(const struct elf_module *m, const struct callgraph_site *s,
		      const struct callgraph_func *gate, uint8_t *image, struct error *why)
{
	uint64_t at = s->link.field;
	const uint8_t *code = elf_module_at(m, at, 4);
	uint8_t *field = image + (code - m->image);

	if (!s->link.stub && s->flags & PCCE_SITE_TAIL) {
		memcpy(field - 2, "\xe9\0\0\0\0\x90", 6);
		field--;
		at--;
	} else if (!s->link.stub) {
		memcpy(field - 2, "\x67\xe8", 2);
	}
	if (put_distance(field, at + 4, gate->addr))
		return error_set(why, -EINVAL, "is too large: '%s' is 2 GiB away from a call of it",
				 gate->name);
	return 0;
}

int gates_patch(const struct callgraph *cg, const struct elf_module *m, uint8_t *image,
		struct error *why)
{
	int err = 0;

	for (uint32_t f = 0; !err && f < cg->n_funcs; f++)
		if (is_gate(&cg->funcs[f]))
			err = patch_gate(m, &cg->funcs[f], image, why);
	for (uint32_t i = 0; !err && i < cg->n_sites; i++)
		if (cg->sites[i].gated)
			err = patch_call(m, &cg->sites[i], &cg->funcs[cg->sites[i].callee], image,
					 why);
	return err;
}

static bool is_filled(const uint8_t *gate)
{
	return !memcmp(gate + CMP, "\x4c\x39\x1d", FIELD);
}

int gates_restore_call(uint8_t *code, size_t n, uint64_t vaddr, size_t field,
		       const struct site_block *gate, const uint8_t *gate_code, struct error *why)
{
	uint64_t start = gate->head.start, stub = 0, slot;
	bool jump = code[0] == 0xe9 && n == 6;

	if (!is_filled(gate_code))
		return refuse_gate(gate->name, why);
	slot = start + CMP + LEN + (uint64_t)x86_load_rel32(gate_code + CMP + FIELD);
	if (gate_code[PCCE_GATE_CALL] == 0x67)
		stub = start + PCCE_GATE_CALL + PCCE_GATE_CALL_BYTES +
		       (uint64_t)x86_load_rel32(gate_code + PCCE_GATE_CALL + 2);
	if (jump || code[0] == 0x67) {
		memcpy(code, jump ? "\xff\x25" : "\xff\x15", 2);
		put_distance(code + 2, vaddr + 6, slot);
		return 0;
	}
	if (!stub)
		return refuse_gate(gate->name, why);
	put_distance(code + field, vaddr + field + 4, stub);
	return 0;
}

void gates_clear(uint8_t *image, const struct elf_module *m, const struct site_block *b)
{
	const uint8_t *code = elf_module_at(m, b->head.start, PCCE_GATE_SIZE);

	if (!code || !is_filled(code))
		return;
	x86_fill_nops(image + (code - m->image) + PCCE_GATE_TEST, PCCE_GATE_TEST_BYTES);
	x86_fill_nops(image + (code - m->image) + PCCE_GATE_CALL, PCCE_GATE_CALL_BYTES);
}
