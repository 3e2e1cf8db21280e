/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Compares a decoded context with the unwound stack, from the innermost frame outwards.
 *
 * Of the stack, only addresses in instrumented functions count: not helpers, the runtime or
 * uninstrumented code. Of the context, only CALL frames count. The innermost CALL frame must be in
 * the function of the innermost address. Every other one must match the return address of its call.
 * Beyond a gap, the outermost frames of both are compared.
 */
#include <pcce/sites.h>
#include "elf/encoding_table.h"
#include "decode/verify.h"

struct cursor {
	const struct decode_context *ctx;
	size_t at;
	uint32_t done; /* repetitions of the group that ends next */
};

static const struct decode_frame *next_context_frame(struct cursor *c)
{
	const struct decode_frame *f;

	if (c->at >= c->ctx->n)
		return NULL;
	f = &c->ctx->frames[c->at];
	if (c->done < f->repeat) {
		c->done++;
		c->at -= f->span - 1;
	} else {
		if (f->repeat)
			c->done = 0;
		c->at++;
	}
	return f;
}

static size_t count_context_calls(struct cursor c)
{
	const struct decode_frame *f;
	size_t n = 0;

	while ((f = next_context_frame(&c)))
		n += f->kind == DECODE_FRAME_CALL;
	return n;
}

struct stack {
	const struct decode_space *as;
	const uint64_t *pc;
	uint32_t n, at;
	const struct decode_module *m; /* of the address that next_instrumented_pc() found */
	uint64_t vaddr;		       /* its link-time address */
	uint32_t func;
	bool from_helper; /* it called a helper */
};

/*
 * Finds the next address in an instrumented function. A return address belongs to the call before
 * it. ip and the pc that a signal interrupted (exact) belong to themselves.
 */
static bool next_instrumented_pc(struct stack *s, bool exact)
{
	s->from_helper = false;
	for (; s->at < s->n; s->at++) {
		uint64_t back = s->at == 0 || exact ? 0 : 1, pc = s->pc[s->at];
		const struct decode_module *m = s->as->find(s->as, pc - back);

		if (!m || !m->table)
			continue;
		s->m = m;
		s->vaddr = decode_link_time(m, pc);
		if (encoding_table_helper_at(m->table, s->vaddr - back)) {
			s->from_helper = true;
			continue;
		}
		s->func = encoding_table_func_at(m->table, s->vaddr - back);
		if (s->func == PCCE_NONE)
			continue;
		s->at++;
		return true;
	}
	return false;
}

static size_t count_instrumented_pcs(struct stack s)
{
	size_t n = 0;

	while (next_instrumented_pc(&s, false))
		n++;
	return n;
}

static bool returns_to(const struct pcce_table_site *site, uint64_t vaddr)
{
	return vaddr > site->key + site->restore_len && vaddr <= site->key + site->ret;
}

/*
 * Does another copy of the call return here? Copies of one source call, for example in an unrolled
 * loop, share caller, callee and value, so the encoding does not tell them apart.
 */
static bool copy_returns_to(const struct encoding_table *t, const struct pcce_table_site *site,
			    uint64_t vaddr)
{
	uint32_t at = encoding_table_site_around(t, vaddr - 1);
	const struct pcce_table_site *other;

	if (at == PCCE_NONE || site->kind > PCCE_KIND_ADD || site->callee == PCCE_NONE)
		return false;
	other = &t->sites[at];
	return other->kind == site->kind && other->func == site->func &&
	       other->callee == site->callee && other->value == site->value &&
	       returns_to(other, vaddr);
}

static bool frame_agrees(const struct decode_frame *f, const struct stack *s)
{
	const struct pcce_table_site *site;

	if (f->module != s->m->module || f->func != s->func)
		return false;
	if (f->site == PCCE_NONE)
		return true;
	site = &s->m->table->sites[f->site];
	/* In a push or pop: the helper moves to another segment, and ext names the slot. */
	if (s->from_helper && s->vaddr == site->key)
		return true;
	return returns_to(site, s->vaddr) || copy_returns_to(s->m->table, site, s->vaddr);
}

/*
 * Did the unwinder stop early, even if it reported success? The outermost frame of a thread belongs
 * to the startup code or the C library.
 */
static bool stack_ended_early(const struct pcce_sample *sample, struct stack s)
{
	if (sample->flags & PCCE_SAMPLE_UNWIND_BAD || !s.n)
		return true;
	s.at = s.n - 1;
	return next_instrumented_pc(&s, false);
}

/*
 * Is the sample in the last instructions of longjmp? There the unwinder takes the setjmp that ext
 * names for the caller, so the next address is the return address of this setjmp. All frames
 * further out come from half loaded registers. The context is the one below the record of the jump
 * (decode.c).
 */
static bool jump_announced(const struct pcce_sample *sample, const struct stack *s)
{
	const struct decode_module *m =
		sample->ext >> 32 ? s->as->find(s->as, sample->ext) : s->as->main_module(s->as);
	uint32_t site;

	if (!sample->ext || !m || m->table != s->m->table)
		return false;
	site = encoding_table_site_by_key(
		m->table, sample->ext >> 32 ? decode_link_time(m, sample->ext) : sample->ext);
	return site != PCCE_NONE && m->table->sites[site].flags & PCCE_SITE_RETURNS_TWICE &&
	       s->vaddr == m->table->sites[site].key + m->table->sites[site].ret;
}

/*
 * Do the two outermost frames of both agree? In the unwinder's last instructions some registers
 * already belong to the target. A walk then finds mixed frames before it reaches real ones further
 * out.
 */
static bool ends_alike(const struct decode_context *ctx, struct stack s)
{
	struct cursor c = {.ctx = ctx};
	size_t calls = count_context_calls(c), have = count_instrumented_pcs(s);
	const struct decode_frame *f;

	if (calls < 2 || have < 2)
		return false;
	for (; have > 2; have--)
		next_instrumented_pc(&s, false);
	while ((f = next_context_frame(&c)))
		if (f->kind == DECODE_FRAME_CALL && calls-- <= 2 &&
		    (!next_instrumented_pc(&s, false) || !frame_agrees(f, &s)))
			return false;
	return true;
}

/*
 * Is a non-local jump under way? In longjmp and similar functions, and at the end of a throw, the
 * unwind information describes the target's frame. The context is still that of the call, which
 * never returns. Then the stack must be the outer part of the context; only the target's own pc is
 * unknown. s: at the target.
 */
static bool jump_in_flight(const struct pcce_sample *sample, const struct decode_context *ctx,
			   const struct decode_frame *f, struct stack s)
{
	const struct decode_module *m = s.as->find(s.as, f->address);
	struct cursor c = {.ctx = ctx};
	size_t calls = count_context_calls(c), have = count_instrumented_pcs(s) + 1;
	bool target = true;

	if (f->site == PCCE_NONE || !m || !m->table)
		return false;
	if (jump_announced(sample, &s))
		return true;
	if (!(m->table->sites[f->site].flags & PCCE_SITE_NORETURN))
		return false;
	if (sample->flags & PCCE_SAMPLE_UNWIND_BAD)
		return true;
	if (m->table->sites[f->site].flags & PCCE_SITE_THROWS && ends_alike(ctx, s))
		return true;
	if (have > calls)
		return false;
	for (size_t skip = calls - have; (f = next_context_frame(&c));) {
		if (f->kind != DECODE_FRAME_CALL || skip) {
			skip -= f->kind == DECODE_FRAME_CALL;
			continue;
		}
		if (target ? f->module != s.m->module || f->func != s.func
			   : !next_instrumented_pc(&s, false) || !frame_agrees(f, &s))
			return false;
		target = false;
	}
	return true;
}

enum verify_result verify_context(const struct decode_space *as, const struct pcce_sample *sample,
				  const uint64_t *stack, const struct decode_context *ctx)
{
	struct stack s = {.as = as, .pc = stack, .n = sample->n_stack};
	struct cursor c = {.ctx = ctx};
	const struct decode_frame *f;
	bool exact = false, in_foreign = false;

	if (!(sample->flags & PCCE_SAMPLE_STACK) || ctx->status == DECODE_OUTSIDE ||
	    ctx->status == DECODE_UNDECODABLE)
		return VERIFY_NONE;
	if (ctx->reason == DECODE_REASON_TRACED)
		return VERIFY_UNVERIFIABLE;
	while ((f = next_context_frame(&c))) {
		if (f->kind == DECODE_FRAME_SIGNAL)
			exact = true;
		if (f->kind == DECODE_FRAME_GAP) {
			size_t want = count_context_calls(c), have = count_instrumented_pcs(s);

			if (stack_ended_early(sample, s))
				return VERIFY_UNVERIFIABLE;
			if (have < want)
				return VERIFY_MISMATCH;
			for (; have > want; have--)
				next_instrumented_pc(&s, false);
		}
		if (f->kind == DECODE_FRAME_FOREIGN && f == ctx->frames)
			in_foreign = true;
		if (f->kind != DECODE_FRAME_CALL)
			continue;
		if (!next_instrumented_pc(&s, exact))
			return stack_ended_early(sample, s) ? VERIFY_UNVERIFIABLE : VERIFY_MISMATCH;
		exact = false;
		if (!frame_agrees(f, &s))
			return in_foreign && jump_in_flight(sample, ctx, f, s) ? VERIFY_UNVERIFIABLE
									       : VERIFY_MISMATCH;
		in_foreign = false;
	}
	if (next_instrumented_pc(&s, false))
		return VERIFY_MISMATCH;
	/* The whole context was found, but the unwinder may have missed further frames. */
	return sample->flags & PCCE_SAMPLE_UNWIND_BAD ? VERIFY_UNVERIFIABLE : VERIFY_AGREES;
}
