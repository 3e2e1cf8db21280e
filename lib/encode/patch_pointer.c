/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Fills the slots of calls through pointers that have a guard: see patch_pointer.h.
 *
 * Both kinds of guard of a call are at the beginning of the before-slot, and a push at its end. The
 * after-slot has the pop. The guard of a tail call is behind the jump, and so is the call for other
 * functions, with its push and pop.
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

	return code &&
	       x86_decode_indirect(code, s->after - at, at, s->flags & PCCE_SITE_TAIL, operand);
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
		code_put_helper(c, f, 0, page->push);
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

/* ---- tail calls ------------------------------------------------------------------ */

#define TAIL_CALL 8 /* of the call: as long as any, so that its key tells where it returns */

/* Compares the pointer with the function, and jumps to it, up to PCCE_TAIL_GUARD. */
static void put_tail_guard(struct code *c, struct fixups *f, const struct callgraph_site *s,
			   const struct x86_operand *operand, const struct patch_tail *tail)
{
	size_t behind;

	PUT(c, 0x4c, 0x8d, 0x1d); /* lea function(%rip), %r11 */
	code_put_target(c, f, tail->pointer, false);
	put_with_operand(c, f, CMP, operand);
	PUT(c, 0x75, 0); /* jne miss */
	behind = c->n;
	tail->guard->key = s->after + c->n;
	PUT(c, 0xe9); /* jmp function */
	code_put_target(c, f, tail->target, false);
	tail->guard->ret = s->after + c->n - tail->guard->key;
	x86_fill_nops(c->bytes + c->n, PCCE_TAIL_GUARD - c->n);
	c->bytes[behind - 1] = PCCE_TAIL_GUARD - behind;
	c->n = PCCE_TAIL_GUARD;
}

/*
 * Does the call of the top entry return where this function would? Then the tail call is a jump,
 * since that entry holds the caller's state. Otherwise tail calls in a row would make the stack
 * grow without limit. Compares the key, without the count, with the address of a call of that
 * length.
 */
static void put_return_check(struct code *c, struct fixups *f, const struct patch_page *page)
{
	if (page->executable) {
		PUT(c, 0x64, 0x44, 0x8b, 0x14, 0x25); /* mov %fs:D+off, %r10d */
		code_put32(c, page->offset + PAGE_OFF);
		PUT(c, 0x64, 0x4d, 0x8b, 0x9a); /* mov %fs:D+top.site(%r10), %r11 */
		code_put32(c, page->offset + TOP + 8);
	} else {
		PUT(c, 0x4c, 0x8b, 0x15); /* mov G(%rip), %r10 */
		code_put_target(c, f, page->got, false);
		PUT(c, 0x64, 0x45, 0x8b, 0x5a, PAGE_OFF); /* mov %fs:off(%r10), %r11d */
		PUT(c, 0x4d, 0x01, 0xd3);		  /* add %r10, %r11 */
		PUT(c, 0x64, 0x4d, 0x8b, 0x5b, TOP + 8);  /* mov %fs:top.site(%r11), %r11 */
	}
	PUT(c, 0x49, 0xc1, 0xe3, 16);	     /* shl $16, %r11 */
	PUT(c, 0x4c, 0x8b, 0x14, 0x24);	     /* mov (%rsp), %r10 */
	PUT(c, 0x49, 0x83, 0xea, TAIL_CALL); /* sub $length, %r10 */
	PUT(c, 0x49, 0xc1, 0xe2, 16);	     /* shl $16, %r10 */
	PUT(c, 0x4d, 0x39, 0xd3);	     /* cmp %r10, %r11 */
	PUT(c, 0x74, 0);		     /* je the jump */
	c->bytes[c->n - 1] = PCCE_TAIL_JUMP - c->n;
}

/* A call (2) or jump (4) through the operand. */
static void put_through(struct code *c, struct fixups *f, uint8_t kind, const struct x86_operand *o)
{
	if (o->rex || kind == 2)
		PUT(c, REX | o->rex, 0xff, o->bytes[0] | kind << 3);
	else
		PUT(c, 0xff, o->bytes[0] | kind << 3);
	if (o->relative) {
		code_put_target(c, f, o->target, false);
		return;
	}
	for (int i = 1; i < o->n; i++)
		code_put8(c, o->bytes[i]);
}

/* The call of other functions: from PCCE_TAIL_FRAME to PCCE_TAIL_JUMP. */
static void put_tail_call(struct code *c, struct fixups *f, const struct patch_page *page,
			  const struct callgraph_site *s, const struct x86_operand *operand,
			  struct pcce_table_site *out)
{
	const uint64_t popped = s->after + PCCE_TAIL_LEFT - 4;
	struct fixups unused = {};
	struct code call = {};

	put_through(&call, &unused, 2, operand);
	out->key = s->after + PCCE_TAIL_RETURN - TAIL_CALL;
	out->ret = TAIL_CALL;
	code_put_helper(c, f, out->key, page->push);
	for (size_t n = call.n; n < TAIL_CALL; n++)
		code_put8(c, PREFIX_CS);
	put_through(c, f, 2, operand);
	code_put_helper(c, f, popped, page->pop);
	PUT(c, 0x48, 0x83, 0xc4, 8); /* add $8, %rsp */
	PUT(c, 0xc3);
	out->before = out->key - (s->after + PCCE_TAIL_FRAME);
	out->claim = out->applied = out->before;
	out->after_len = out->undone = popped - (s->after + PCCE_TAIL_RETURN);
}

static int make_tail(const struct patch_page *page, const struct callgraph_site *s,
		     const struct x86_operand *operand, const struct patch_tail *tail,
		     struct patch_slots *patch)
{
	const size_t n = s->after - s->before;
	struct fixups f = {};
	struct code c = {};

	if (tail->pointer)
		put_tail_guard(&c, &f, s, operand, tail);
	put_return_check(&c, &f, page);
	x86_fill_nops(c.bytes + c.n, PCCE_TAIL_FRAME - 4 - c.n);
	c.n = PCCE_TAIL_FRAME - 4;
	PUT(&c, 0x48, 0x83, 0xec, 8); /* sub $8, %rsp */
	put_tail_call(&c, &f, page, s, operand, tail->call);
	put_through(&c, &f, 4, operand);
	if (c.n != PCCE_TAIL_JUMP + n || code_apply_fixups(&c, &f, s->after, 0))
		return -ERANGE;
	memcpy(patch->after, c.bytes, c.n);
	x86_fill_nops(patch->after + c.n, s->after_len - c.n);
	patch->jump[0] = 0xeb; /* jmp to the slot */
	patch->jump[1] = n - 2;
	x86_fill_nops(patch->jump + 2, n - 2);
	patch->n_jump = n;
	return 0;
}

int patch_make_tail(const struct patch_page *page, const struct elf_module *m,
		    const struct callgraph_site *s, const char *func, const struct patch_tail *tail,
		    struct patch_slots *patch, struct pcce_table_site *out, struct error *why)
{
	struct x86_operand operand;

	out->key = s->before;
	out->ret = s->after - s->before;
	if (!decode_operand(m, s, &operand) || make_tail(page, s, &operand, tail, patch))
		return refuse_distance(func, why);
	return 0;
}

/* The frame of the call moves the stack pointer. */
static bool uses_rsp(const struct x86_operand *o)
{
	return o->bytes[0] >> 6 != 3 && (o->bytes[0] & 7) == 4 && (o->bytes[1] & 7) == 4;
}

bool patch_tail_fits(const struct elf_module *m, const struct callgraph_site *s)
{
	const struct patch_page page = {.push = s->before, .pop = s->before, .got = s->before};
	struct pcce_table_site guard, call;
	const struct patch_tail tail = {s->before, s->before, &guard, &call};
	struct x86_operand operand;
	struct patch_slots patch;

	return s->flags & PCCE_SITE_TAIL && s->after_len == PCCE_SLOT_TAIL &&
	       decode_operand(m, s, &operand) && !uses_rsp(&operand) &&
	       !make_tail(&page, s, &operand, &tail, &patch);
}
