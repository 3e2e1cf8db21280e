/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See decode_landing.h. */
#include <string.h>
#include "tools/lib/decode_landing.h"
#include "tools/lib/decode_locate.h"
#include "tools/lib/table_read.h"

/* Calls that do not come back but to a landing pad, and in which no function of the program runs meanwhile. */
static bool throws(const struct mapped_module *m, uint32_t site)
{
	static const char *const names[] = {"_Unwind_Resume", "_Unwind_Resume_or_Rethrow", "__cxa_rethrow"};
	const struct pcce_table_site *s = &m->table->sites[site];
	const char *name = table_string(m->table, s->callee_name);

	if (s->callee != PCCE_NONE || s->flags & PCCE_SITE_INDIRECT)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	/* __cxa_throw, __cxa_throw_bad_array_new_length; __cxa_bad_cast; std::__throw_length_error(char const *),
	 * std::rethrow_exception(std::exception_ptr) */
	return !strncmp(name, "__cxa_throw", 11) || !strncmp(name, "__cxa_bad_", 10) ||
	       (!strncmp(name, "_ZSt", 4) && (strstr(name, "__throw_") || strstr(name, "rethrow_exception")));
}

enum decode_reason landing_begin(struct walk *w)
{
	const struct mapped_module *m = NULL;
	uint32_t site;

	if (w->landing)
		return REASON_RESTORING;
	if (w->ext)
		m = walk_find_ext(w, &site);
	else if (walk_top(w) == TOP_ENTRY)
		m = walk_find_site(w, w->entries[w->top - 1].site & PCCE_SITE_MASK, PCCE_KIND_PUSH, &site);
	if (!m || !throws(m, site))
		return REASON_RESTORING;
	w->landing = w->ctx->n;
	return locate_caller_of_foreign(w);
}

/* The only frame further out, in this thread, of the function of frames[-1]; n if there is none, or more than one. */
static size_t only_call(const struct frame *frames, size_t n)
{
	size_t found = n;

	for (size_t i = 0; i < n && frames[i].kind != FRAME_ORIGIN; i++) {
		if (frames[i].kind == FRAME_CALL && frames[i].module == frames[-1].module &&
		    frames[i].func == frames[-1].func) {
			if (found != n)
				return n;
			found = i;
		}
		if (found != n && frames[i].repeat && i < found + frames[i].span)
			return n;
	}
	return found;
}

enum decode_reason landing_end(struct walk *w, enum decode_reason r)
{
	struct context *ctx = w->ctx;
	struct frame *frames = &ctx->frames[w->landing];
	size_t n = ctx->n - w->landing, found = r || w->truncated ? n : only_call(frames, n);

	if (found == n) {
		ctx->n = w->landing;
		return r ? r : REASON_RESTORING;
	}
	for (size_t i = 0; i < found; i++)
		ctx->depth -= (uint64_t)frames[i].repeat * frames[i].span;
	memmove(frames, frames + found + 1, (n - found - 1) * sizeof(*frames));
	ctx->n -= found + 1;
	return REASON_NONE;
}
