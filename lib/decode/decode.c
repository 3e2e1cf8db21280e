/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes a sample into the chain of calls, innermost frame first, by three repeated steps:
 *
 *   decode_locate()    interprets the registers.  ip gives the current function and the steps of
 *                      a slot or helper that are done.  Undoing them gives the function's id.
 *                      Uninstrumented code becomes a foreign frame, called by the site in ext
 *                      or by the site of the top entry.
 *   climb_segment()    goes from a function and its id to the root of its context segment, one
 *                      in-edge at a time (Sumner et al., ICSE 2010, Algorithm 2).  The in-edges
 *                      are sorted, so each step is a binary search.
 *   pop_entry()        goes from a root to the caller that pushed (Algorithm 4), and adds the
 *                      frames between them: tail calls and uninstrumented code.
 *
 * Special entries interrupt this order. A pair of entries of a signal holds the interrupted
 * registers, and decode_locate() starts again with them. Another pair marks the beginning of a
 * thread. Others say that the state is not known: then nothing decodes.
 *
 * Nothing here recurses, and the sample or the table bounds every loop. The sampled program can
 * write the memory that samples come from, so no content may break this.
 */
#include <errno.h>
#include <string.h>
#include <pcce/datafile.h>
#include "decode/decode.h"
#include "decode/frames.h"
#include "decode/landing.h"
#include "decode/locate.h"
#include "decode/tail_calls.h"
#include "elf/encoding_table.h"

/* The largest number of functions between the ends of a chain of tail calls. */
#define TAIL_PATH_MAX 64

/* ---- tail calls ------------------------------------------------------------------ */

static void emit_tail_call(struct walk *w, const struct decode_module *m, uint32_t func)
{
	if (!(m->table->funcs[func].flags & PCCE_FUNC_GATE))
		walk_emit(w, DECODE_FRAME_TAIL, m, func, PCCE_NONE, 0);
}

/* Other functions may lie before the frames from first on, which tail calls have left. */
static void mark_open(struct walk *w, size_t first)
{
	if (w->ctx->n > first)
		w->ctx->frames[first].open = true;
}

/* Adds the frames of a call of `callee` that reached `reached` by tail calls. */
static void emit_tail_calls(struct walk *w, const struct decode_module *m, uint32_t callee,
			    uint32_t reached)
{
	uint32_t path[TAIL_PATH_MAX];
	size_t first = w->ctx->n;
	int n = encoding_table_tail_path(m->table, callee, reached, path, TAIL_PATH_MAX);
	bool known = n >= 0;

	while (n > 0)
		emit_tail_call(w, m, path[--n]);
	/* Where the way is not known, it is known that a gate has led to its function. */
	if (!known && m->table->funcs[callee].flags & PCCE_FUNC_GATE)
		callee = decode_behind_gate(m->table, callee);
	if (callee != PCCE_NONE && callee != reached)
		emit_tail_call(w, m, callee);
	if (!known)
		mark_open(w, first);
}

/*
 * Adds the frames of a call of `callee` that left the module by tail calls, or went through a
 * pointer, and reached w->func. What lies behind the last of them is not known.
 */
static void emit_leaving(struct walk *w, const struct decode_module *m, uint32_t callee)
{
	bool in_module = w->inner != WALK_INNER_FOREIGN && m->table == w->m->table;
	uint32_t path[TAIL_PATH_MAX];
	size_t first = w->ctx->n;
	int n = 0;

	/* It may also have stayed in the module. */
	if (!in_module || !decode_tail_calls(w->ctx, m->table, callee, w->func, &w->no_memory))
		n = encoding_table_exit_path(m->table, callee, path, TAIL_PATH_MAX);
	while (n > 0)
		emit_tail_call(w, m, path[--n]);
	emit_tail_call(w, m, callee);
	mark_open(w, first);
}

/* ---- from a function to the root of its segment ---------------------------------- */

/* Leaves the caller's depth in the id. Returns false if it cannot be. */
static bool move_to_caller(struct walk *w, const struct pcce_table_site *s)
{
	uint32_t depth = (uint32_t)w->id, size = encoding_table_frame(w->m->table, s->key);

	if (size == PCCE_NONE || depth < size)
		return false;
	w->id -= size;
	return true;
}

/*
 * With hybrid encoding, the id says which call led to a function, unless it is 0: then the depth
 * does. Both say how the caller was called.
 */
static enum decode_reason climb_hybrid_segment(struct walk *w)
{
	const struct encoding_table *t = w->m->table;

	for (uint64_t steps = t->head->funcs.count; steps; steps--) {
		uint64_t id = w->id & ~0xffffffffULL;
		uint32_t site = PCCE_NONE;

		if (id) {
			uint32_t edge = encoding_table_in_edge(t, w->func, id);

			if (edge == PCCE_NONE)
				return DECODE_REASON_NO_EDGE;
			site = t->edges[edge].site;
			w->id -= t->edges[edge].value;
		} else {
			const struct pcce_table_implicit *c =
				encoding_table_implicit(t, w->func, (uint32_t)w->id);

			if (!c)
				return DECODE_REASON_NO_EDGE;
			if (c->site == PCCE_NONE)
				return DECODE_REASON_NONE;
			site = c->site;
		}
		if (site == PCCE_NONE)
			return DECODE_REASON_NO_EDGE;
		if (t->sites[site].callee != PCCE_NONE && t->sites[site].callee != w->func)
			emit_tail_calls(w, w->m, t->sites[site].callee, w->func);
		walk_emit_call(w, w->m, site);
		if (!move_to_caller(w, &t->sites[site]))
			return DECODE_REASON_NO_EDGE;
		w->func = t->sites[site].func;
	}
	return DECODE_REASON_NO_EDGE;
}

static enum decode_reason climb_segment(struct walk *w)
{
	const struct encoding_table *t = w->m->table;
	uint64_t steps = t->head->funcs.count;

	if (w->id >= PCCE_ID_LOST_MIN)
		return DECODE_REASON_LOST_ID;
	if (t->head->flags & PCCE_TABLE_HYBRID)
		return climb_hybrid_segment(w);
	for (;;) {
		const struct pcce_table_edge *e;
		const struct pcce_table_site *s;
		uint32_t i = encoding_table_in_edge(t, w->func, w->id);

		if (i == PCCE_NONE) {
			if (w->id)
				return DECODE_REASON_NO_EDGE;
			return t->funcs[w->func].flags & PCCE_FUNC_ROOT ? DECODE_REASON_NONE
									: DECODE_REASON_NOT_ROOT;
		}
		if (!steps--)
			return DECODE_REASON_NO_EDGE; /* a table whose edges run in a circle */
		e = &t->edges[i];
		if (e->site == PCCE_NONE) {
			if (e->tail != w->func)
				emit_tail_calls(w, w->m, e->tail, w->func);
			w->func = e->tail;
			return DECODE_REASON_NONE;
		}
		s = &t->sites[e->site];
		if (s->callee != PCCE_NONE && s->callee != w->func)
			emit_tail_calls(w, w->m, s->callee, w->func);
		walk_emit_call(w, w->m, e->site);
		w->id -= e->value;
		w->func = s->func;
	}
}

/* ---- from a root to the caller that pushed --------------------------------------- */

/* Did the named callee reach the root by direct tail calls, in the root's module? */
static bool is_named_tail(struct walk *w, const char *name)
{
	const struct encoding_table *t = w->m->table;

	for (uint64_t i = 0; i < t->head->tails.count; i++) {
		uint32_t from = t->tails[i].from;

		if (strcmp(encoding_table_string(t, t->funcs[from].name), name) ||
		    !decode_tail_calls(w->ctx, t, from, w->func, &w->no_memory))
			continue;
		emit_tail_calls(w, w->m, from, w->func);
		return true;
	}
	return false;
}

/* Finds the exported function of that name that leaves its module by tail calls. */
static uint32_t find_leaver(const struct encoding_table *t, const char *name)
{
	for (uint32_t i = 0; i < t->n_leavers; i++)
		if (!strcmp(encoding_table_string(t, t->funcs[t->leavers[i]].name), name))
			return t->leavers[i];
	return PCCE_NONE;
}

/*
 * The callee, in another module than the caller's, may have left its module by tail calls. Then it
 * may have reached anything. Returns false if no module has such a function.
 */
static bool explain_leaver(struct walk *w, const struct decode_module *caller, const char *name)
{
	const struct decode_module *m, *found = NULL;
	uint32_t func = PCCE_NONE;
	bool unique = true;

	for (size_t i = 0; (m = w->as->mapping(w->as, i)); i++) {
		uint32_t f = m->table && m->table != caller->table ? find_leaver(m->table, name)
								   : PCCE_NONE;

		if (f == PCCE_NONE || (found && found->table == m->table))
			continue;
		unique = !found;
		found = m;
		func = f;
	}
	/* Uninstrumented code may also be that which binds the callee. */
	if (found && (!unique || w->inner == WALK_INNER_FOREIGN))
		w->open = true;
	else if (found)
		emit_leaving(w, found, func);
	return found;
}

/* Adds the frames between a call of a function that another module has and what it reached. */
static void explain_named_call(struct walk *w, const struct decode_module *caller, const char *name)
{
	const struct encoding_table *t;

	if (w->inner == WALK_INNER_FOREIGN) {
		explain_leaver(w, caller, name);
		return;
	}
	t = w->m->table;
	if (!strcmp(encoding_table_string(t, t->funcs[w->func].name), name) ||
	    explain_leaver(w, caller, name) || is_named_tail(w, name))
		return;
	walk_emit(w, DECODE_FRAME_FOREIGN, NULL, PCCE_NONE, PCCE_NONE, 0);
	walk_mark_missing(w);
}

/* Adds the frames between the call of a push site and the segment that it reached. */
static enum decode_reason explain_push(struct walk *w, const struct decode_module *m, uint32_t site)
{
	const struct pcce_table_site *s = &m->table->sites[site];
	bool foreign = w->inner == WALK_INNER_FOREIGN, same = !foreign && m->table == w->m->table;

	if (w->inner == WALK_INNER_UNKNOWN)
		return DECODE_REASON_NONE;
	if (s->callee == PCCE_NONE) {
		if (!(s->flags & PCCE_SITE_INDIRECT))
			explain_named_call(w, m, encoding_table_string(m->table, s->callee_name));
		return DECODE_REASON_NONE;
	}
	if (same && s->callee == w->func)
		return DECODE_REASON_NONE;
	if (m->table->funcs[s->callee].flags & PCCE_FUNC_TAIL_OUT)
		emit_leaving(w, m, s->callee);
	else if (same && decode_tail_calls(w->ctx, m->table, s->callee, w->func, &w->no_memory))
		emit_tail_calls(w, m, s->callee, w->func);
	else if (!foreign)
		return DECODE_REASON_WRONG_CALLEE;
	return DECODE_REASON_NONE;
}

/*
 * Repeats a segment that was pushed `more` further times in a row: frames[segment .. n). The frames
 * [glue .. segment) lie between the segment and its callee.
 */
static enum decode_reason repeat_segment(struct walk *w, const struct decode_module *m,
					 uint32_t site, size_t glue, size_t segment, uint32_t more)
{
	struct decode_context *ctx = w->ctx;
	size_t end = ctx->n, glue2, start = segment;
	enum decode_reason r;

	r = explain_push(w, m, site);
	if (r || w->no_memory)
		return r;
	glue2 = ctx->n - end;
	if (glue2 == segment - glue &&
	    decode_frames_same(&ctx->frames[glue], &ctx->frames[end], glue2)) {
		ctx->n = end;
		start = glue;
	} else if (glue2) {
		/*
		 * The innermost repetition has another callee than the others, so it is not
		 * repeated.
		 */
		w->no_memory |= !decode_frames_copy(ctx, segment, end - segment, 1);
		start = end;
		more--;
	}
	if (w->no_memory || !more)
		return DECODE_REASON_NONE;
	if (w->expand) {
		w->no_memory |= !decode_frames_copy(ctx, start, ctx->n - start, more);
		return DECODE_REASON_NONE;
	}
	ctx->frames[ctx->n - 1].repeat = more;
	ctx->frames[ctx->n - 1].span = ctx->n - start;
	ctx->depth += (uint64_t)more * (ctx->n - start);
	return DECODE_REASON_NONE;
}

static enum decode_reason pop_entry(struct walk *w)
{
	const struct pcce_entry *e = &w->entries[w->top - 1];
	uint32_t more = walk_entry_count(e) - w->used, site;
	const struct decode_module *m =
		walk_find_site(w, e->site & PCCE_SITE_MASK, PCCE_KIND_PUSH, &site);
	size_t glue = w->ctx->n, segment;
	enum decode_reason r;

	if (!m)
		return e->id >= PCCE_ID_LOST_MIN && !e->site ? DECODE_REASON_LOST_ID
							     : DECODE_REASON_UNKNOWN_SITE;
	r = explain_push(w, m, site);
	if (r)
		return r;
	walk_drop_entry(w);
	segment = w->ctx->n;
	walk_emit_call(w, m, site);
	w->m = m;
	w->func = m->table->sites[site].func;
	w->id = e->id;
	w->inner = WALK_INNER_ROOT;
	if (!walk_settle(w, m->table->sites[site].key))
		return DECODE_REASON_NO_EDGE;
	r = climb_segment(w);
	if (r || !more || w->no_memory)
		return r;
	return repeat_segment(w, m, site, glue, segment, more);
}

/* Leaves the thread's own stack: its creator's entries are below. */
static enum decode_reason leave_thread(struct walk *w)
{
	const struct pcce_entry *second = &w->entries[w->top - 1], *first = second - 1;
	uint64_t need = second->id;
	uint32_t bottom;

	if (w->top < 2 || w->top - 1 == w->gap || walk_entry_count(first) != PCCE_COUNT_ORIGIN)
		return DECODE_REASON_UNKNOWN_SITE;
	if (!w->ctx->origin)
		w->ctx->origin = w->top;
	w->used = 0;
	w->inner = WALK_INNER_FOREIGN;
	w->top -= 2;
	for (bottom = w->top; bottom && need; bottom--)
		need -= walk_entry_count(&w->entries[bottom - 1]) != PCCE_COUNT_FILL;
	w->gap = need && w->origins ? 0 : UINT32_MAX;
	w->top -= w->origins ? bottom : w->top;
	if (!w->origins)
		return DECODE_REASON_NONE;
	/* Below the creator's entries there are only fill entries. */
	w->deeper = 0;
	w->entries += bottom;
	walk_emit(w, DECODE_FRAME_ORIGIN, NULL, PCCE_NONE, PCCE_NONE, 0);
	w->id = first->id;
	w->ext = first->site & PCCE_SITE_MASK;
	w->inner = WALK_INNER_ROOT;
	return decode_locate_caller_of_foreign(w);
}

/*
 * Continues with the state that the special entries on top hold: that of code which a signal
 * interrupted, for example.
 */
static enum decode_reason pop_special_entry(struct walk *w)
{
	const struct pcce_entry *second = &w->entries[w->top - 1], *first;
	uint64_t ip;

	if (walk_has_record(w)) {
		/* longjmp itself called the program, for example a clean-up handler. */
		w->top -= 2;
		w->inner = WALK_INNER_FOREIGN;
		return DECODE_REASON_NONE;
	}
	if (walk_entry_count(second) == PCCE_COUNT_LEAF) {
		w->top--;
		w->used = 0;
		w->id = second->id;
		w->ext = second->site & PCCE_SITE_MASK;
		return decode_locate_called_as_leaf(w);
	}
	if (walk_entry_count(second) == PCCE_COUNT_ORIGIN2)
		return leave_thread(w);
	if (walk_entry_count(second) == PCCE_COUNT_UNKNOWN)
		return DECODE_REASON_REDIRECTED;
	if (walk_entry_count(second) == PCCE_COUNT_SHARED)
		return DECODE_REASON_SHARED_PAGE;
	walk_emit(w, DECODE_FRAME_SIGNAL, NULL, PCCE_NONE, PCCE_NONE, 0);
	if (walk_entry_count(second) != PCCE_COUNT_SIGNAL2)
		return DECODE_REASON_UNKNOWN_SITE;
	w->top--;
	w->used = 0;
	if (!w->top || w->top == w->gap)
		return DECODE_REASON_UNKNOWN_SITE;
	first = second - 1;
	if (walk_entry_count(first) != PCCE_COUNT_SIGNAL)
		return DECODE_REASON_UNKNOWN_SITE;
	w->top--;
	ip = first->site & PCCE_SITE_MASK;
	w->id = first->id;
	w->ext = second->id;
	w->interrupted = true;
	return decode_locate(w, ip, second->site & PCCE_SITE_MASK);
}

/* ---- all together ---------------------------------------------------------------- */

/* Does nothing matter for the rest but the function, between two segments of the stack? */
static bool is_between_parts(const struct walk *w)
{
	const struct decode_context *ctx = w->ctx;

	return w->in_parts && w->top % PCCE_SEGMENT_ENTRIES == 0 && (w->top || w->more) &&
	       !w->landing && !ctx->origin && !w->truncated && ctx->n &&
	       ctx->frames[ctx->n - 1].kind == DECODE_FRAME_CALL;
}

/* Decodes outwards from the state that decode_locate() left, with its result r. */
static enum decode_reason decode_outward(struct walk *w, enum decode_reason r)
{
	for (;;) {
		if (r || w->no_memory)
			return r;
		if (w->inner == WALK_INNER_ROOT && !w->climbed) {
			r = climb_segment(w);
			if (r)
				return r;
		}
		w->climbed = false;
		/* Pop entries until a segment is left to climb. */
		for (;;) {
			enum walk_top top = walk_top(w);

			if (w->no_memory || top == WALK_TOP_EMPTY)
				return DECODE_REASON_NONE;
			if (top == WALK_TOP_SIGNAL) {
				r = pop_special_entry(w);
				break;
			}
			if (top == WALK_TOP_GAP) {
				walk_emit(w, DECODE_FRAME_GAP, NULL, PCCE_NONE, PCCE_NONE, 0);
				w->truncated = true;
				w->gap = UINT32_MAX;
				w->inner = WALK_INNER_UNKNOWN;
				continue;
			}
			r = pop_entry(w);
			w->stopped = !r && is_between_parts(w);
			if (r || w->stopped)
				return r;
		}
	}
}

/*
 * Adds a frame for the code that called the outermost function, if the program itself is not
 * instrumented: then only uninstrumented code can have called a library's function that nothing
 * called. In an instrumented program it can also be the beginning of a thread.
 */
static void emit_caller(struct walk *w)
{
	if ((w->inner == WALK_INNER_ROOT || w->inner == WALK_INNER_ENTERED) &&
	    walk_top(w) == WALK_TOP_EMPTY && !w->as->main_module(w->as))
		walk_emit(w, DECODE_FRAME_FOREIGN, NULL, PCCE_NONE, PCCE_NONE, 0);
}

/* Is the page one that several tasks use? Then no register and no field belongs to an entry. */
static bool is_page_shared(const struct pcce_entry *entries, uint32_t n)
{
	return n && walk_entry_count(&entries[n - 1]) == PCCE_COUNT_SHARED;
}

/* Adds the only frame of a sample without a page: ip. */
static void emit_ip_only(struct walk *w, uint64_t ip)
{
	const struct decode_module *m = w->as->find(w->as, ip);
	uint32_t func = m && m->table ? encoding_table_func_at(m->table, decode_link_time(m, ip))
				      : PCCE_NONE;

	walk_emit(w, func == PCCE_NONE ? DECODE_FRAME_FOREIGN : DECODE_FRAME_CALL, m, func,
		  PCCE_NONE, ip);
}

/* Adds a frame for the code that counts an entry into the function at ip. */
static void emit_counting(struct walk *w)
{
	walk_emit(w, DECODE_FRAME_FOREIGN, NULL, PCCE_NONE, PCCE_NONE, 0);
	if (w->ctx->n)
		w->ctx->frames[w->ctx->n - 1].counting = true;
}

/* Does the program hide its runtime from its libraries (PCCE_TABLE_HIDDEN)? Then jumps, signals and
 * calls in libraries may have left any state. */
static bool runtime_is_hidden(const struct decode_space *as)
{
	const struct decode_module *m = as->main_module(as);

	return m && m->table && m->table->head->flags & PCCE_TABLE_HIDDEN;
}

static int finish_context(struct walk *w)
{
	struct decode_context *ctx = w->ctx;

	if (w->truncated)
		ctx->status = DECODE_TRUNCATED;
	if (ctx->reason || w->traced)
		walk_emit(w, DECODE_FRAME_GAP, NULL, PCCE_NONE, PCCE_NONE, 0);
	if (ctx->reason) {
		ctx->status = DECODE_UNDECODABLE;
	} else if (w->traced || w->not_encoded) {
		ctx->status = DECODE_TRUNCATED;
		ctx->reason = w->traced ? DECODE_REASON_TRACED : DECODE_REASON_NOT_ENCODED;
	}
	ctx->depth += ctx->n;
	return w->no_memory ? -ENOMEM : 0;
}

/* Decodes a sample; the walk has the caller's wishes, and nothing else. */
static int walk_sample(struct walk *w, const struct decode_space *as,
		       const struct pcce_sample *sample, const struct pcce_entry *entries,
		       uint32_t n_entries, struct decode_context *ctx)
{
	uint64_t total = (uint64_t)sample->n_below * PCCE_SEGMENT_ENTRIES + sample->n_entries;

	w->as = as;
	w->entries = entries;
	w->ctx = ctx;
	w->id = sample->id;
	w->ext = sample->ext;
	w->n_entries = w->top = n_entries;
	w->gap = UINT32_MAX;
	decode_frames_clear(ctx);
	if (sample->flags & PCCE_SAMPLE_COLD) {
		ctx->status = DECODE_UNKEPT;
	} else if (sample->flags & PCCE_SAMPLE_OUTSIDE) {
		/* A thread of the kernel has no function of a program. */
		if (sample->ip || sample->n_stack)
			emit_ip_only(w, sample->ip);
		ctx->status = DECODE_OUTSIDE;
	} else if (sample->flags & PCCE_SAMPLE_READ_FAULT || n_entries > total) {
		emit_ip_only(w, sample->ip);
		ctx->reason = DECODE_REASON_READ_FAULT;
	} else if (runtime_is_hidden(as)) {
		emit_ip_only(w, sample->ip);
		ctx->reason = DECODE_REASON_LOST_ID;
	} else if (is_page_shared(entries, n_entries)) {
		emit_ip_only(w, sample->ip);
		ctx->reason = DECODE_REASON_SHARED_PAGE;
	} else {
		w->traced = sample->flags & PCCE_SAMPLE_TRACED;
		w->deeper = total - n_entries;
		if (w->deeper)
			w->gap = 0;
		if (sample->flags & PCCE_SAMPLE_COUNTING)
			emit_counting(w);
		ctx->reason = decode_outward(w, decode_locate(w, sample->ip, sample->r11));
		if (w->landing)
			ctx->reason = decode_landing_end(w, ctx->reason);
		/* Its id has no meaning, whatever that leads to. */
		if (ctx->reason && n_entries &&
		    walk_entry_count(&entries[n_entries - 1]) == PCCE_COUNT_UNKNOWN)
			ctx->reason = DECODE_REASON_REDIRECTED;
		if (!ctx->reason && !w->stopped)
			emit_caller(w);
	}
	if (sample->flags & PCCE_SAMPLE_IP_MIXED && ctx->n)
		ctx->frames[0].whole = true;
	return finish_context(w);
}

int decode_sample(const struct decode_space *as, const struct pcce_sample *sample,
		  const struct pcce_entry *entries, uint32_t n_entries, bool expand, bool origins,
		  struct decode_context *ctx)
{
	struct walk w = {.expand = expand, .origins = origins};

	return walk_sample(&w, as, sample, entries, n_entries, ctx);
}

/* ---- in parts -------------------------------------------------------------------- */

static void note_rest(const struct walk *w, struct decode_rest *rest)
{
	const struct decode_context *ctx = w->ctx;
	/* Then nothing has asked for the entries that are not given. */
	bool failed = ctx->reason && w->top && !ctx->origin && !w->truncated;

	*rest = (struct decode_rest){.needs_more = w->more && !w->stopped && !failed};
	if (w->stopped) {
		rest->module = w->m;
		rest->func = w->func;
		rest->left = w->top;
	}
}

int decode_first_part(const struct decode_space *as, const struct pcce_sample *sample,
		      const struct pcce_entry *entries, uint32_t n_entries, bool more, bool origins,
		      struct decode_context *ctx, struct decode_rest *rest)
{
	struct walk w = {.origins = origins, .in_parts = true, .more = more};
	int r = walk_sample(&w, as, sample, entries, n_entries, ctx);

	note_rest(&w, rest);
	return r;
}

int decode_next_part(const struct decode_space *as, const struct pcce_entry *entries,
		     uint32_t n_entries, bool more, uint64_t deeper, bool origins,
		     struct decode_context *ctx, struct decode_rest *rest)
{
	struct walk w = {.as = as,
			 .entries = entries,
			 .ctx = ctx,
			 .origins = origins,
			 .m = rest->module,
			 .func = rest->func,
			 .inner = WALK_INNER_ROOT,
			 .climbed = true,
			 .n_entries = n_entries,
			 .top = n_entries,
			 .deeper = deeper,
			 .gap = deeper ? 0 : UINT32_MAX,
			 .in_parts = true,
			 .more = more};
	int r;

	decode_frames_clear(ctx);
	ctx->reason = decode_outward(&w, DECODE_REASON_NONE);
	if (w.landing)
		ctx->reason = decode_landing_end(&w, ctx->reason);
	if (!ctx->reason && !w.stopped)
		emit_caller(&w);
	r = finish_context(&w);
	note_rest(&w, rest);
	return r;
}

int decode_origin(const struct decode_space *as, const struct pcce_entry *entries,
		  uint32_t n_entries, bool expand, struct decode_context *ctx)
{
	struct walk w = {
		.as = as,
		.entries = entries,
		.ctx = ctx,
		.expand = expand,
		.origins = true,
		.top = n_entries,
		.gap = UINT32_MAX,
	};

	decode_frames_clear(ctx);
	if (runtime_is_hidden(as))
		ctx->reason = DECODE_REASON_LOST_ID;
	else
		ctx->reason = decode_outward(&w, n_entries ? leave_thread(&w)
							   : DECODE_REASON_UNKNOWN_SITE);
	if (!ctx->reason)
		emit_caller(&w);
	return finish_context(&w);
}

bool decode_has_base(const struct decode_space *as, const struct pcce_sample *s)
{
	const struct decode_module *m;

	if (s->flags & (PCCE_SAMPLE_OUTSIDE | PCCE_SAMPLE_READ_FAULT) || s->id >= PCCE_ID_LOST_MIN)
		return false;
	m = as->find(as, s->ip);
	return m && m->table && m->table->head->flags & PCCE_TABLE_HYBRID &&
	       encoding_table_has_base(m->table, decode_link_time(m, s->ip), s->ext);
}

void decode_take_stack_pointer(const struct decode_space *as, struct pcce_sample *s)
{
	if (decode_has_base(as, s))
		s->id = (s->id & ~0xffffffffULL) | (uint32_t)(s->id - s->sp);
}

bool decode_needs_r11(const struct decode_space *as, uint64_t ip)
{
	const struct decode_module *m = as->find(as, ip);

	return m && m->table && encoding_table_helper_at(m->table, decode_link_time(m, ip));
}
