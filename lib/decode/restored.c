/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Joins two halves of a stack. The innermost half are the frames of uninstrumented code, which were
 * unwound. The outer one is the decoded context. Both contain the call from instrumented code, by
 * which they are checked against each other.
 *
 * If a signal came in uninstrumented code, its handler's frames and the interrupted ones are one
 * sequence. The context has a frame for the signal between them. Only the handler's frames are
 * added then.
 */
#include <errno.h>
#include <pcce/sites.h>
#include "decode/frames.h"
#include "decode/restored.h"
#include "elf/encoding_table.h"

bool restored_is_instrumented(const struct decode_space *as, uint64_t address, bool *helper)
{
	const struct decode_module *m = as->find(as, address);
	uint64_t vaddr;

	if (!m || !m->table)
		return false;
	vaddr = decode_link_time(m, address);
	*helper = encoding_table_helper_at(m->table, vaddr);
	return *helper || encoding_table_func_at(m->table, vaddr) != PCCE_NONE;
}

/*
 * Is ret the return address of a helper call in the slot that ext names? A push is at its slot's
 * end, and ext is that end. A pop is at its slot's start, and nops may lie between it and ext.
 */
static bool is_helper_call(const struct decode_module *m, uint64_t ext, uint64_t ret)
{
	uint64_t end = decode_link_time(m, ext), vaddr = decode_link_time(m, ret);
	uint32_t i = encoding_table_site_around(m->table, end - 1);
	const struct pcce_table_site *s = i == PCCE_NONE ? NULL : &m->table->sites[i];

	return ret == ext || (s && end == s->key + s->ret + s->after_len && s->undone &&
			      vaddr == s->key + s->ret + s->undone);
}

/* Or a push or pop moves to another segment: it called the runtime, and ext names its slot. */
static bool is_call_of(const struct decode_space *as, const struct decode_frame *caller,
		       uint64_t ext, uint64_t ret)
{
	const struct decode_module *m = as->find(as, ret - 1);
	const struct pcce_table_site *site;
	uint64_t vaddr;

	if (!m || m->module != caller->module)
		return false;
	if (caller->site == PCCE_NONE)
		return is_helper_call(m, ext, ret);
	site = &m->table->sites[caller->site];
	vaddr = decode_link_time(m, ret);
	return vaddr > site->key + site->restore_len && vaddr <= site->key + site->ret;
}

/* The place behind the foreign frame, and behind the mark that code which is not encoded may have
 * called it. */
static size_t behind_first(const struct decode_context *ctx)
{
	return ctx->n > 1 && ctx->frames[1].kind == DECODE_FRAME_GAP ? 2 : 1;
}

/* The instrumented caller of the foreign frame, if the context has one. */
static const struct decode_frame *caller_of_first(const struct decode_context *ctx)
{
	for (size_t i = behind_first(ctx); i < ctx->n; i++)
		if (ctx->frames[i].kind != DECODE_FRAME_TAIL)
			return ctx->frames[i].kind == DECODE_FRAME_CALL ? &ctx->frames[i] : NULL;
	return NULL;
}

/* Is this the return address of the setjmp that ext names? longjmp() is about to arrive there. */
static bool jump_announced_at(const struct decode_space *as, const struct pcce_sample *sample,
			      uint64_t ret)
{
	const struct decode_module *m =
		sample->ext >> 32 ? as->find(as, sample->ext) : as->main_module(as);
	const struct pcce_table_site *s;
	uint32_t site;

	if (!sample->ext || !m || !m->table)
		return false;
	site = encoding_table_site_by_key(
		m->table, sample->ext >> 32 ? decode_link_time(m, sample->ext) : sample->ext);
	if (site == PCCE_NONE)
		return false;
	s = &m->table->sites[site];
	return s->flags & PCCE_SITE_RETURNS_TWICE && decode_run_time(m, s->key + s->ret) == ret;
}

/*
 * Is a non-local jump under way? In the last instructions of a throw or of longjmp(), the unwind
 * information leads to the target, which is further out in the context. The context is still that
 * of the call, which does not return.
 */
static bool jump_under_way(const struct decode_space *as, const struct decode_context *ctx,
			   const struct decode_frame *caller, uint64_t ret)
{
	const struct decode_module *m = as->find(as, caller->address), *to = as->find(as, ret - 1);
	const struct decode_frame *end = ctx->frames + ctx->n;
	uint32_t func;

	if (!m || !m->table || caller->site == PCCE_NONE || !to || !to->table ||
	    !(m->table->sites[caller->site].flags & PCCE_SITE_NORETURN))
		return false;
	func = encoding_table_func_at(to->table, decode_link_time(to, ret - 1));
	for (const struct decode_frame *f = caller; f < end; f++)
		if (f->kind == DECODE_FRAME_CALL && f->module == to->module && f->func == func)
			return true;
	return false;
}

/* Adds n frames behind the first one, and with `gap` one that says that others are missing. */
static int insert_frames(const struct decode_space *as, const uint64_t *ret, uint32_t n, bool gap,
			 struct decode_context *ctx)
{
	struct decode_frame f = {.module = UINT32_MAX, .func = PCCE_NONE, .site = PCCE_NONE};

	if (decode_frames_open(ctx, 1, n + gap))
		return -ENOMEM;
	f.kind = DECODE_FRAME_GAP;
	if (gap)
		ctx->frames[1 + n] = f;
	f.kind = DECODE_FRAME_FOREIGN;
	f.restored = true;
	for (uint32_t i = 0; i < n; i++) {
		const struct decode_module *m = as->find(as, ret[i] - 1);

		f.module = m ? m->module : UINT32_MAX;
		f.address = ret[i] - 1;
		ctx->frames[1 + i] = f;
	}
	ctx->frames[0].restored = n || !gap;
	ctx->depth += n + gap;
	return 0;
}

/* The frames up to the one that a signal interrupted. */
static int add_handler_frames(const struct decode_space *as, const uint64_t *ret, uint32_t n,
			      struct decode_context *ctx, enum restored_result *result)
{
	size_t at = behind_first(ctx) + 1;
	const struct decode_frame *interrupted = at < ctx->n ? &ctx->frames[at] : NULL;
	uint32_t i = 0;

	while (interrupted && i < n && ret[i] != interrupted->address)
		i++;
	if (!interrupted || i == n) {
		*result = RESTORED_MISMATCH;
		return 0;
	}
	*result = interrupted->kind == DECODE_FRAME_FOREIGN ? RESTORED_PART : RESTORED_WHOLE;
	return insert_frames(as, ret, i, false, ctx);
}

int restored_add(const struct decode_space *as, const struct pcce_sample *sample,
		 const uint64_t *frames, struct decode_context *ctx, enum restored_result *result)
{
	uint32_t n = sample->n_stack;
	const struct decode_frame *caller;
	bool outside = ctx->status == DECODE_OUTSIDE, helper = false;
	bool reached = !outside && n && restored_is_instrumented(as, frames[n - 1] - 1, &helper);

	*result = RESTORED_NONE;
	if (!(sample->flags & PCCE_SAMPLE_FRAMES) || !ctx->n ||
	    ctx->frames[0].address != sample->ip || ctx->status == DECODE_UNDECODABLE ||
	    (ctx->frames[0].kind != DECODE_FRAME_FOREIGN && !outside))
		return 0;
	caller = caller_of_first(ctx);
	if (sample->flags & PCCE_SAMPLE_FRAMES_PARTIAL) {
		*result = n ? RESTORED_PART : RESTORED_FAILED;
		return insert_frames(as, frames, n, true, ctx);
	}
	if (behind_first(ctx) < ctx->n &&
	    ctx->frames[behind_first(ctx)].kind == DECODE_FRAME_SIGNAL)
		return add_handler_frames(as, frames, n, ctx, result);
	if (!reached && caller) {
		/* A child of posix_spawn() has a stack of its own, but its parent's context. */
		*result = n ? RESTORED_PART : RESTORED_FAILED;
		return insert_frames(as, frames, n, true, ctx);
	}
	if (reached &&
	    (!caller || (helper ? caller->site != PCCE_NONE
				: !is_call_of(as, caller, sample->ext, frames[n - 1])))) {
		if (ctx->reason == DECODE_REASON_TRACED ||
		    (!helper && caller &&
		     (jump_under_way(as, ctx, caller, frames[n - 1]) ||
		      jump_announced_at(as, sample, frames[n - 1])))) {
			*result = RESTORED_FAILED;
			return insert_frames(as, frames, 0, true, ctx);
		}
		*result = RESTORED_MISMATCH;
		return 0;
	}
	*result = RESTORED_WHOLE;
	return insert_frames(as, frames, n - reached, false, ctx);
}
