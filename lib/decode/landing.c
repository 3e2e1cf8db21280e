/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds the call that caught an exception: see landing.h. */
#include <string.h>
#include "decode/frames.h"
#include "decode/landing.h"
#include "elf/encoding_table.h"

enum decode_reason decode_landing_begin(struct walk *w, uint32_t restore)
{
	const struct decode_module *m = NULL;
	uint32_t site;

	if (w->landing)
		return DECODE_REASON_RESTORING;
	if (w->ext)
		m = walk_find_ext(w, &site);
	else if (walk_top(w) == WALK_TOP_ENTRY)
		m = walk_find_site(w, w->entries[w->top - 1].site & PCCE_SITE_MASK, PCCE_KIND_PUSH,
				   &site);
	/*
	 * A call inside the module reaches a function of the program that only has the name of one
	 * that throws.
	 */
	if (!m || !(m->table->sites[site].flags & PCCE_SITE_THROWS) ||
	    m->table->sites[site].callee != PCCE_NONE)
		return DECODE_REASON_RESTORING;
	w->landing = w->ctx->n;
	w->landing_table = w->m->table;
	w->landing_pad = encoding_table_landing(w->m->table, restore);
	return DECODE_REASON_NONE;
}

/* Is frames[i] a call in the function of frames[-1]? */
static bool is_call_of_lander(const struct decode_frame *frames, size_t i)
{
	return frames[i].kind == DECODE_FRAME_CALL && frames[i].module == frames[-1].module &&
	       frames[i].func == frames[-1].func;
}

/*
 * Returns the only outer frame of the function of frames[-1] in this thread; n if there is none or
 * more than one.
 */
static size_t find_only_call(const struct decode_frame *frames, size_t n)
{
	size_t found = n;

	for (size_t i = 0; i < n && frames[i].kind != DECODE_FRAME_ORIGIN; i++) {
		if (is_call_of_lander(frames, i)) {
			if (found != n)
				return n;
			found = i;
		}
		if (found != n && frames[i].repeat && i < found + frames[i].span)
			return n;
	}
	return found;
}

/* Returns the innermost frame whose call lets exceptions land here, or n: not known. */
static size_t find_innermost_call(const struct walk *w, const struct decode_frame *frames, size_t n)
{
	const struct encoding_table *t = w->landing_table;
	bool known = w->landing_pad != PCCE_NONE;

	for (size_t i = 0;
	     i < n && frames[i].kind != DECODE_FRAME_ORIGIN && frames[i].kind != DECODE_FRAME_GAP;
	     i++) {
		uint32_t site = frames[i].site;
		bool lands;

		if (!is_call_of_lander(frames, i))
			continue;
		if (site == PCCE_NONE)
			return n;
		if (!(t->sites[site].flags & PCCE_SITE_HAS_PAD))
			continue;
		lands = t->sites[site].flags & PCCE_SITE_LANDS;
		if (known ? encoding_table_landing(t, site) == w->landing_pad : lands)
			return i;
		if (!known || lands)
			return n;
	}
	return n;
}

/* Writes out the innermost repetition if frames[found] is among repeated frames. */
static void split_repetition(struct walk *w, size_t found)
{
	struct decode_context *ctx = w->ctx;
	struct decode_frame *frames = &ctx->frames[w->landing];
	size_t n = ctx->n - w->landing, end = found, start;

	while (end < n && !frames[end].repeat)
		end++;
	if (end == n || end - found >= frames[end].span)
		return;
	start = end + 1 - frames[end].span;
	if (!decode_frames_copy(ctx, w->landing + start, n - start, 1)) {
		w->no_memory = true;
		return;
	}
	frames = &ctx->frames[w->landing];
	ctx->depth -= frames[end].span;
	if (!--frames[n + end - start].repeat)
		frames[n + end - start].span = 0;
	frames[end].repeat = frames[end].span = 0;
	memmove(&frames[end + 1], &frames[n], (n - start) * sizeof(*frames));
	ctx->n -= n - (end + 1);
}

enum decode_reason decode_landing_end(struct walk *w, enum decode_reason r)
{
	struct decode_context *ctx = w->ctx;
	struct decode_frame *frames = &ctx->frames[w->landing];
	size_t n = ctx->n - w->landing, found = find_innermost_call(w, frames, n);

	if (found == n && w->landing_pad == PCCE_NONE && !r && !w->truncated)
		found = find_only_call(frames, n);
	if (found == n) {
		ctx->n = w->landing;
		return r ? r : DECODE_REASON_RESTORING;
	}
	split_repetition(w, found);
	frames = &ctx->frames[w->landing];
	for (size_t i = 0; i < found; i++)
		ctx->depth -= (uint64_t)frames[i].repeat * frames[i].span;
	ctx->n -= found + 1;
	memmove(frames, frames + found + 1, (ctx->n - w->landing) * sizeof(*frames));
	return r;
}
