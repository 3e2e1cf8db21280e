/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fills the slots of calls through pointers that have a guard: see patch_pointer.h.
 *
 * Both kinds of guard are at the beginning of the before-slot, and a push at its end. The
 * after-slot has the pop.
 */
#include <errno.h>
#include <string.h>
#include "encode/patch_code.h"
#include "encode/patch_pointer.h"
#include "elf/x86.h"

#define CMP 0x39 /* cmp %r11, OPERAND */
#define MOV 0x8b /* mov OPERAND, %r11 */
#define FS 0x64

/* An instruction with %r11 and the operand of the call. */
static void put_with_operand(struct code *c, struct fixups *f, uint8_t opcode,
			     const struct x86_operand *o)
{
	PUT(c, 0x4c | o->rex, opcode, o->bytes[0] | 3 << 3);
	if (o->relative) {
		code_put_target(c, f, o->target, false);
		return;
	}
	for (int i = 1; i < o->n; i++)
		code_put8(c, o->bytes[i]);
}

static bool decode_operand(const struct elf_module *m, const struct callgraph_site *s,
			   struct x86_operand *operand)
{
	uint64_t at = s->before + s->before_len;
	const uint8_t *code = elf_module_at(m, at, s->after - at);

	return code && x86_decode_indirect_call(code, s->after - at, at, operand);
}

static bool pushes_inline(const struct patch_page *page, const struct callgraph_site *s)
{
	return s->before_len >= PCCE_SLOT_TYPED && page->executable && !page->no_inline;
}

/* Jumps over the push. Returns 0, or where a short jump ends, whose distance follows. */
static size_t put_end_jump(const struct patch_page *page, const struct callgraph_site *s,
			   struct code *c, struct fixups *f)
{
	if (!pushes_inline(page, s)) {
		PUT(c, 0xeb, 0);
		return c->n;
	}
	PUT(c, 0xe9);
	code_put_target(c, f, s->after + s->after_len, false);
	return 0;
}

static void put_push(const struct patch_page *page, const struct callgraph_site *s, struct code *c,
		     struct fixups *f)
{
	if (pushes_inline(page, s))
		code_put_inline_push(c, f, page, s);
	else
		code_put_helper(c, f, page->push);
}

/* Where a guard's parts begin in the code of a slot. */
struct guard_parts {
	size_t begin, applied, call, back, undone;
};

/*
 * Ends a guard: the jump over the push, nops, and the push, at the end of the slot. A guard that
 * holds does not pass the nops. Describes both calls. The code begins where the slot does. Returns
 * 0 or -ERANGE; fixups remain to be applied.
 */
static int end_guard(const struct patch_page *page, const struct callgraph_site *s, struct code *c,
		     struct fixups *f, const struct guard_parts *at, struct pcce_table_site *out,
		     struct pcce_table_site *guard)
{
	size_t end_jump = put_end_jump(page, s, c, f), miss;
	uint64_t after_end_jump = s->after + s->after_len - (s->before + end_jump);
	struct fixups unused = {};
	struct code push = {};

	put_push(page, s, &push, &unused);
	if (c->n + push.n > s->before_len || (end_jump && after_end_jump > 127))
		return -ERANGE;
	miss = s->before_len - push.n;
	x86_fill_nops(c->bytes + c->n, miss - c->n);
	c->n = miss;
	put_push(page, s, c, f);
	c->bytes[at->begin - 1] = miss - at->begin; /* jne miss */
	if (end_jump)
		c->bytes[end_jump - 1] = after_end_jump;
	out->key = s->before + c->n;
	out->before = push.n;
	out->ret = s->after - out->key;
	out->claim = (c->claim ? c->claim : c->n) - miss;
	out->applied = push.n;
	guard->key = s->before + at->call;
	guard->before = at->call - at->begin;
	guard->ret = at->back - at->call;
	guard->claim = guard->applied = at->applied - at->begin;
	guard->undone = guard->after_len = at->undone - at->back;
	return 0;
}

/* The guard, and a push where it fails. */
static int make_guarded_before(const struct patch_page *page, const struct callgraph_site *s,
			       const struct x86_operand *operand, uint64_t pointer, uint64_t target,
			       enum pcce_site_kind kind, uint64_t value, struct patch_slots *patch,
			       struct pcce_table_site *out, struct pcce_table_site *guard)
{
	struct guard_parts at;
	struct fixups f = {};
	struct code c = {};
	int own_key;

	PUT(&c, 0x4c, 0x8d, 0x1d); /* lea function(%rip), %r11 */
	code_put_target(&c, &f, pointer, false);
	put_with_operand(&c, &f, CMP, operand);
	PUT(&c, 0x75, 0); /* jne miss */
	at.begin = c.n;
	own_key = f.n;
	if (kind == PCCE_KIND_ADD)
		code_put_arith(&c, &f, page, value, 0);
	else if (kind == PCCE_KIND_EXT)
		code_put_ext_before(&c, &f, page, 0); /* the key follows */
	at.applied = at.call = c.n;
	PUT(&c, 0xe8); /* call function */
	code_put_target(&c, &f, target, false);
	at.back = c.n;
	if (kind == PCCE_KIND_ADD)
		code_put_arith(&c, &f, page, value, 0x28);
	else if (kind == PCCE_KIND_EXT)
		code_put_ext_after(&c, &f, page);
	at.undone = c.n;
	if (end_guard(page, s, &c, &f, &at, out, guard))
		return -ERANGE;
	if (kind == PCCE_KIND_EXT && page->executable) {
		uint32_t own = guard->key;

		if (guard->key >> 32)
			return -ERANGE;
		memcpy(c.bytes + at.call - sizeof(own), &own, sizeof(own));
	} else if (kind == PCCE_KIND_EXT) {
		f.item[own_key].to_key = false;
		f.item[own_key].target = guard->key;
	}
	if (code_apply_fixups(&c, &f, s->before, out->key))
		return -ERANGE;
	memcpy(patch->before, c.bytes, c.n);
	return 0;
}

static int refuse_distance(const char *func, struct error *why)
{
	return error_set(why, -EINVAL,
			 "is too large: code of '%s' is more than 2 GiB away from the runtime",
			 func);
}

int patch_make_guarded(const struct patch_page *page, const struct elf_module *m,
		       const struct callgraph_site *s, const char *func, uint64_t pointer,
		       uint64_t target, enum pcce_site_kind kind, uint64_t value,
		       struct patch_slots *patch, struct pcce_table_site *out,
		       struct pcce_table_site *guard, struct error *why)
{
	struct x86_operand operand;
	int err = decode_operand(m, s, &operand) ? 0 : -EINVAL;

	if (!err)
		err = make_guarded_before(page, s, &operand, pointer, target, kind, value, patch,
					  out, guard);
	if (!err)
		err = patch_make_after(page, s, PCCE_KIND_PUSH, 0, patch, out, NULL);
	return err ? refuse_distance(func, why) : 0;
}

/* ---- types ----------------------------------------------------------------------- */

/* The code of a type and the first byte of what sets the id, as a member's entry slot has them. */
static uint32_t code_word(uint32_t code)
{
	uint8_t bytes[PATCH_TYPE_CODE];

	patch_type_code(code, bytes);
	return bytes[0] | bytes[1] << 8 | bytes[2] << 16 | (uint32_t)FS << 24;
}

/* The guard of a type, and a push where it fails. */
static int make_typed_before(const struct patch_page *page, const struct callgraph_site *s,
			     const struct x86_operand *operand, const struct callgraph_site *g,
			     uint64_t value, struct patch_slots *patch, struct pcce_table_site *out,
			     struct pcce_table_site *guard)
{
	struct guard_parts at;
	struct fixups f = {};
	struct code c = {};

	put_with_operand(&c, &f, MOV, operand);
	if (g->code_at)
		PUT(&c, 0x41, 0x81, 0x7b, g->code_at); /* cmpl $code, code_at(%r11) */
	else
		PUT(&c, 0x41, 0x81, 0x3b);
	code_put32(&c, code_word(g->code));
	PUT(&c, 0x75, 0); /* jne miss */
	at.begin = c.n;
	if (value)
		code_put_arith(&c, &f, page, value, 0);
	at.applied = c.n;
	PUT(&c, 0x49, 0x83, 0xc3, g->code_at + PCCE_SLOT_ENTRY); /* add $behind the slot, %r11 */
	at.call = c.n;
	if (g->code_at)
		PUT(&c, 0x3e, 0x41, 0xff, 0xd3); /* notrack call *%r11 */
	else
		PUT(&c, 0x41, 0xff, 0xd3);
	at.back = c.n;
	if (value)
		code_put_arith(&c, &f, page, value, 0x28);
	at.undone = c.n;
	if (end_guard(page, s, &c, &f, &at, out, guard) ||
	    code_apply_fixups(&c, &f, s->before, out->key))
		return -ERANGE;
	memcpy(patch->before, c.bytes, c.n);
	return 0;
}

int patch_make_typed(const struct patch_page *page, const struct elf_module *m,
		     const struct callgraph_site *s, const struct callgraph_site *guard,
		     const char *func, uint64_t value, struct patch_slots *patch,
		     struct pcce_table_site *out, struct pcce_table_site *guard_out,
		     struct error *why)
{
	struct x86_operand operand;
	int err = decode_operand(m, s, &operand) ? 0 : -EINVAL;

	if (!err)
		err = make_typed_before(page, s, &operand, guard, value, patch, out, guard_out);
	if (!err)
		err = patch_make_after(page, s, PCCE_KIND_PUSH, 0, patch, out, NULL);
	return err ? refuse_distance(func, why) : 0;
}

bool patch_typed_fits(const struct elf_module *m, const struct callgraph_site *s, uint32_t code_at)
{
	const struct patch_page executable = {.executable = true, .push = s->before};
	const struct callgraph_site guard = {.code = 1, .code_at = code_at};
	struct pcce_table_site out, out_guard;
	struct x86_operand operand;
	struct patch_slots patch;

	return s->before_len == PCCE_SLOT_TYPED && s->after_len == PCCE_SLOT_POP &&
	       !(s->flags & (PCCE_SITE_PIC | PCCE_SITE_TAIL | PCCE_SITE_NORETURN |
			     PCCE_SITE_RETURNS_TWICE | PCCE_SITE_SPILL_REGS)) &&
	       decode_operand(m, s, &operand) &&
	       !make_typed_before(&executable, s, &operand, &guard, 1, &patch, &out, &out_guard);
}
