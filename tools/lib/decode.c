/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From a sample to the chain of calls.
 *
 * Three questions are answered in turn, innermost first:
 *
 *   locate()  what do the registers say?  ip gives the current function and which
 *             steps of a slot or of a push or pop helper have been done; undoing
 *             them gives the id of the current function in its segment.  Code
 *             without slots is a foreign frame, under the site in ext or under the
 *             top entry.
 *   climb()   from a function and its id to the root of its segment, one in-edge at
 *             a time (Algorithm 2 of the paper; the table's sorted in-edges make
 *             each step a binary search).
 *   pop()     from a root to the caller that pushed (Algorithm 4), with what lies
 *             between: tail calls and foreign code.
 *
 * A special pair of entries stands for a signal: there the interrupted registers
 * are in the entries, and locate() starts again with them.  Another one stands for the beginning of a thread.
 *
 * Nothing here recurses, and every loop is bounded by the sample or by the table,
 * whatever these hold: samples come from memory that the sampled program can write.
 */
#include <errno.h>
#include <string.h>
#include <pcce/sites.h>
#include "tools/lib/decode.h"
#include "tools/lib/decode_frames.h"
#include "tools/lib/decode_tails.h"
#include "tools/lib/table_read.h"

/* Inner functions of a chain of tail calls that are looked for. */
#define TAIL_PATH_MAX 64

/* What the segment that was just finished hangs under. */
enum inner_kind {
	INNER_ROOT,    /* func is a root; the caller pushed. Or it is to be climbed from */
	INNER_ENTERED, /* func is a root that has just been entered */
	INNER_FOREIGN, /* code without slots */
	INNER_UNKNOWN  /* a gap: anything may have been here */
};

struct walk {
	const struct address_space *as;
	const struct pcce_entry *entries;
	struct context *ctx;
	bool expand, origins;

	uint64_t id, ext;  /* the state, at the point that was reached */
	bool first_return; /* ext names a call of this function that returns twice: the state is known */
	const struct mapped_module *m;
	uint32_t func;
	enum inner_kind inner;

	uint64_t deeper; /* entries below entries[0] that are not known */
	uint32_t n_entries;
	uint32_t top;  /* entries[0 .. top) are left */
	uint32_t used; /* repetitions of entries[top - 1] that are consumed */
	uint32_t gap;  /* entries are missing below entries[gap]; UINT32_MAX: none */
	bool truncated;
	bool no_memory;
};

static void emit(struct walk *w, enum frame_kind kind, const struct mapped_module *m, uint32_t func, uint32_t site,
		 uint64_t address)
{
	struct frame f = {
		.kind = kind,
		.module = m ? m->module : UINT32_MAX,
		.func = func,
		.site = site,
		.address = address,
	};

	w->no_memory |= !frames_add(w->ctx, &f);
}

static void emit_call(struct walk *w, const struct mapped_module *m, uint32_t site)
{
	const struct pcce_table_site *s = &m->table->sites[site];

	emit(w, FRAME_CALL, m, s->func, site, run_time(m, s->key + s->restore_len));
}

/* ---- the encoding stack ---------------------------------------------------------- */

enum top { TOP_ENTRY, TOP_SIGNAL, TOP_GAP, TOP_EMPTY };

static uint64_t entry_count(const struct pcce_entry *e)
{
	return e->site >> PCCE_SITE_BITS;
}

static enum top top_kind(struct walk *w)
{
	while (w->top && w->top != w->gap && entry_count(&w->entries[w->top - 1]) == PCCE_COUNT_FILL)
		w->top--;
	if (w->top == w->gap)
		return TOP_GAP;
	if (!w->top)
		return TOP_EMPTY;
	return entry_count(&w->entries[w->top - 1]) > PCCE_COUNT_MAX ? TOP_SIGNAL : TOP_ENTRY;
}

/* The record of a jump under way is on top: see PCCE_COUNT_JUMP. */
static bool has_record(struct walk *w)
{
	return top_kind(w) == TOP_SIGNAL && entry_count(&w->entries[w->top - 1]) == PCCE_COUNT_JUMP2 && w->top > 1 &&
	       w->top - 1 != w->gap && entry_count(&w->entries[w->top - 2]) == PCCE_COUNT_JUMP;
}

static void drop_entry(struct walk *w)
{
	if (w->top && w->top != w->gap) {
		w->top--;
		w->used = 0;
	}
}

/* A push that claimed an entry and has not filled it: forget it, whatever it holds. If that was at a segment's end and
 * a handler came in between, this may be what made room for the handler, or the entry. */
static enum decode_reason drop_claimed(struct walk *w)
{
	if (w->top && w->top < w->n_entries && (w->deeper + w->top) % PCCE_SEGMENT_ENTRIES == 0 &&
	    entry_count(&w->entries[w->top - 1]) == PCCE_COUNT_FILL)
		return REASON_RESTORING;
	drop_entry(w);
	return REASON_NONE;
}

static void drop_repetition(struct walk *w)
{
	if (w->used < entry_count(&w->entries[w->top - 1]))
		w->used++;
	else
		drop_entry(w);
}

static const struct mapped_module *find_instrumented(const struct walk *w, uint64_t address)
{
	const struct mapped_module *m = w->as->find(w->as, address);

	return m && m->table ? m : NULL;
}

/* The site that an entry or ext names at run time; NULL if there is none of that kind. */
static const struct mapped_module *find_site(const struct walk *w, uint64_t address, uint8_t kind, uint32_t *site)
{
	const struct mapped_module *m = find_instrumented(w, address);

	if (!m)
		return NULL;
	*site = table_site_by_key(m->table, link_time(m, address));
	return *site != PCCE_NONE && m->table->sites[*site].kind == kind ? m : NULL;
}

static const struct mapped_module *find_ext(const struct walk *w, uint32_t *site)
{
	const struct mapped_module *m = w->as->main_module(w->as);

	if (w->ext >> 32 || !m || !m->table)
		return find_site(w, w->ext, PCCE_KIND_EXT, site);
	*site = table_site_by_key(m->table, w->ext);
	return *site != PCCE_NONE && m->table->sites[*site].kind == PCCE_KIND_EXT ? m : NULL;
}

/* ---- locate: what the registers say ---------------------------------------------- */

/* The push of this site is in force: go back to before it. */
static enum decode_reason undo_push(struct walk *w, const struct mapped_module *m, uint32_t site)
{
	const struct pcce_entry *e;

	switch (top_kind(w)) {
	case TOP_GAP:
		/* The entry that holds the id is not in the sample; the gap that follows tells so. */
		w->inner = INNER_UNKNOWN;
		return REASON_NONE;
	case TOP_ENTRY:
		break;
	default:
		return REASON_UNKNOWN_SITE;
	}
	e = &w->entries[w->top - 1];
	if ((e->site & PCCE_SITE_MASK) != run_time(m, m->table->sites[site].key))
		return e->id >= PCCE_ID_LOST_MIN ? REASON_LOST_ID : REASON_UNKNOWN_SITE;
	w->id = e->id;
	drop_repetition(w);
	return REASON_NONE;
}

/* ip is in the slots or the call of a site: the rule of struct pcce_table_site. */
static enum decode_reason window(struct walk *w, const struct mapped_module *m, uint32_t site, uint64_t vaddr)
{
	const struct pcce_table_site *s = &m->table->sites[site];
	uint64_t start = s->key - s->before, ret = s->key + s->ret;

	if (s->kind == PCCE_KIND_RESTORE)
		return w->first_return ? REASON_NONE : REASON_RESTORING;
	if (vaddr >= ret ? vaddr - ret >= s->undone : vaddr - start < s->claim)
		return REASON_NONE;
	switch (s->kind) {
	case PCCE_KIND_ADD:
		if (vaddr < ret && vaddr - start < s->applied)
			return REASON_NONE;
		if (w->id < s->value)
			return REASON_NO_EDGE;
		w->id -= s->value;
		return REASON_NONE;
	case PCCE_KIND_PUSH:
		if (vaddr < ret && vaddr - start < s->applied)
			return drop_claimed(w);
		return undo_push(w, m, site);
	default:
		return REASON_NONE;
	}
}

/* The site of a slot with a push or pop, which is named by the key for a push, by the end of the after-slot for a pop.
 */
static const struct mapped_module *find_slot(const struct walk *w, uint64_t address, uint32_t *site, bool *pop)
{
	const struct mapped_module *m = find_instrumented(w, address - 1);
	const struct pcce_table_site *s;
	uint64_t vaddr;

	if (!m)
		return NULL;
	vaddr = link_time(m, address);
	*pop = false;
	*site = table_site_by_key(m->table, vaddr);
	/* What begins at a slot's end, a restore window perhaps, is not what the pop works for. */
	if (*site == PCCE_NONE || m->table->sites[*site].kind != PCCE_KIND_PUSH) {
		*pop = true;
		*site = table_site_around(m->table, vaddr - 1);
		if (*site == PCCE_NONE)
			return NULL;
		s = &m->table->sites[*site];
		if (s->key + s->ret + s->after_len != vaddr)
			return NULL;
	}
	return m->table->sites[*site].kind == PCCE_KIND_PUSH ? m : NULL;
}

/* ip is in a push or pop helper, and r11 names the slot that it works for. */
static enum decode_reason helper(struct walk *w, uint32_t state, uint64_t r11)
{
	const struct pcce_table_site *s;
	const struct mapped_module *m;
	uint32_t site;
	bool pop;

	m = find_slot(w, r11, &site, &pop);
	if (!m)
		return REASON_UNKNOWN_SITE;
	s = &m->table->sites[site];
	w->m = m;
	w->func = s->func;
	emit(w, FRAME_CALL, m, s->func, PCCE_NONE, run_time(m, s->key + s->restore_len));
	/* The helper itself says it in ext while it goes to another segment. */
	if (w->ext && w->ext != r11)
		return REASON_STALE_EXT;
	switch (state) {
	case PCCE_HELPER_CLAIMED:
		return drop_claimed(w);
	case PCCE_HELPER_PUSHED:
		return undo_push(w, m, site);
	default:
		return REASON_NONE;
	}
}

/* Who called the code without slots that has just been reached from within, or in which the sample was taken. */
static enum decode_reason caller_of_foreign(struct walk *w)
{
	const struct mapped_module *m;
	uint32_t site;
	bool pop = false;

	if (w->ext == PCCE_EXT_CHANGING)
		return REASON_RESTORING;
	if (has_record(w)) {
		/* Not there yet. */
		w->top -= 2;
		w->ext = 0;
	}
	if (!w->ext) {
		/* A call out of the module is a push or ext. The id is what the caller or a callback has left. */
		w->inner = INNER_FOREIGN;
		return w->id >= PCCE_ID_LOST_MIN ? REASON_LOST_ID : REASON_NONE;
	}
	m = find_ext(w, &site);
	if (m) {
		w->m = m;
		w->func = m->table->sites[site].func;
		emit_call(w, m, site);
		return REASON_NONE;
	}
	/* Or a push or pop that is going to another segment: there is no call yet, or none any more. */
	m = find_slot(w, w->ext, &site, &pop);
	if (!m)
		return REASON_UNKNOWN_SITE;
	w->m = m;
	w->func = m->table->sites[site].func;
	emit(w, FRAME_CALL, m, w->func, PCCE_NONE,
	     run_time(m, m->table->sites[site].key + m->table->sites[site].restore_len));
	return pop ? undo_push(w, m, site) : REASON_NONE;
}

static enum decode_reason foreign(struct walk *w, const struct mapped_module *m, uint64_t ip)
{
	emit(w, FRAME_FOREIGN, m, PCCE_NONE, PCCE_NONE, ip);
	return caller_of_foreign(w);
}

/* The segment was entered while ext named the call of a leaf: by that call itself, or from what it calls. */
static enum decode_reason called_as_leaf(struct walk *w)
{
	const struct mapped_module *m;
	uint32_t site;

	if (!w->ext)
		return REASON_UNKNOWN_SITE;
	m = find_ext(w, &site);
	if ((w->inner == INNER_ROOT || w->inner == INNER_ENTERED) &&
	    !(m && !strcmp(table_string(m->table, m->table->sites[site].callee_name),
			   table_string(w->m->table, w->m->table->funcs[w->func].name))))
		emit(w, FRAME_FOREIGN, NULL, PCCE_NONE, PCCE_NONE, 0);
	w->inner = INNER_ROOT;
	return caller_of_foreign(w);
}

/* A jump has ended where ext says: the state is what the record says. */
static enum decode_reason apply_record(struct walk *w)
{
	const struct pcce_entry *record = &w->entries[w->top - 2];
	uint64_t position = record[0].site & PCCE_SITE_MASK, word = record[1].id, target;
	uint32_t used = position & PCCE_OFF_USED;

	if ((record[1].site & PCCE_SITE_MASK) != w->ext)
		return REASON_STALE_EXT;
	w->id = record[0].id;
	target = (position >> 16) * PCCE_SEGMENT_ENTRIES + used / sizeof(*record);
	if (target < w->deeper) {
		w->top = 0; /* in the gap */
		return REASON_NONE;
	}
	target -= w->deeper;
	if (used > PCCE_OFF_FULL || target > w->top)
		return REASON_UNKNOWN_SITE;
	w->top = target;
	if (target && used) {
		uint64_t now = w->entries[target - 1].site;

		/* The top entry may have been repeated since. */
		if (now < word || (now ^ word) & PCCE_SITE_MASK ||
		    (now != word && now >> PCCE_SITE_BITS > PCCE_COUNT_MAX))
			return REASON_UNKNOWN_SITE;
		w->used = (now - word) >> PCCE_SITE_BITS;
	}
	return REASON_NONE;
}

/* ext names a call of setjmp or the like that is returning, or has: see docs/slots.md. */
static bool ext_returns_twice(const struct walk *w, const struct mapped_module **m, uint32_t *site)
{
	if (!w->ext)
		return false;
	*m = find_ext(w, site);
	return *m && (*m)->table->sites[*site].flags & PCCE_SITE_RETURNS_TWICE;
}

/* Sets the state at the innermost function, and w->inner: INNER_ROOT means that there is a
 * segment to climb. */
static enum decode_reason locate(struct walk *w, uint64_t ip, uint64_t r11)
{
	const struct mapped_module *m = w->as->find(w->as, ip);
	const struct pcce_table_helper *h;
	const struct mapped_module *ext_module;
	uint32_t site, ext_site = PCCE_NONE;
	uint64_t vaddr;

	w->inner = INNER_ROOT;
	w->first_return = false;
	if (!m || !m->table)
		return foreign(w, m, ip);
	vaddr = link_time(m, ip);
	h = table_helper_at(m->table, vaddr);
	if (h && h->state == PCCE_HELPER_RESTORING) {
		if (ext_returns_twice(w, &ext_module, &ext_site)) {
			const struct pcce_table_site *s = &ext_module->table->sites[ext_site];

			w->m = ext_module;
			w->func = s->func;
			emit(w, FRAME_CALL, w->m, w->func, PCCE_NONE, run_time(w->m, s->key + s->restore_len));
			return has_record(w) ? apply_record(w) : REASON_NONE;
		}
		emit(w, FRAME_FOREIGN, m, PCCE_NONE, PCCE_NONE, ip);
		return REASON_RESTORING;
	}
	if (h && h->state == PCCE_HELPER_HANDLER) {
		emit(w, FRAME_FOREIGN, m, PCCE_NONE, PCCE_NONE, ip);
		return REASON_RESTORING;
	}
	if (h && h->state == PCCE_HELPER_JUMPING) {
		drop_entry(w);
		drop_entry(w);
		return foreign(w, m, ip);
	}
	if (h)
		return helper(w, h->state, r11);
	w->func = table_func_at(m->table, vaddr);
	if (w->func == PCCE_NONE)
		return foreign(w, m, ip);
	w->m = m;
	emit(w, FRAME_CALL, m, w->func, PCCE_NONE, ip);
	if (vaddr - m->table->funcs[w->func].addr < m->table->funcs[w->func].entry)
		w->inner = INNER_ENTERED;
	site = table_site_around(m->table, vaddr);
	if (ext_returns_twice(w, &ext_module, &ext_site) && ext_module->table == m->table &&
	    m->table->sites[ext_site].func == w->func) {
		w->first_return = true;
		if (has_record(w)) {
			enum decode_reason r = apply_record(w);

			if (r)
				return r;
		}
	} else if (w->ext == PCCE_EXT_CHANGING) {
		return REASON_RESTORING;
	} else if (w->ext && w->inner == INNER_ENTERED) {
		return called_as_leaf(w);
	} else if (w->ext) {
		ext_module = find_ext(w, &ext_site);
		if (!ext_module || ext_module->table != m->table || ext_site != site)
			return REASON_STALE_EXT;
	}
	return site == PCCE_NONE ? REASON_NONE : window(w, m, site, vaddr);
}

/* ---- tail calls ------------------------------------------------------------------ */

/* Frames of a call of `callee` that has reached `reached` by tail calls; reached is
 * PCCE_NONE where the way led out of the module. */
static void emit_tail(struct walk *w, const struct mapped_module *m, uint32_t callee, uint32_t reached)
{
	uint32_t path[TAIL_PATH_MAX];
	int n = reached == PCCE_NONE ? 0 : table_tail_path(m->table, callee, reached, path, TAIL_PATH_MAX);

	while (n > 0)
		emit(w, FRAME_TAIL, m, path[--n], PCCE_NONE, 0);
	emit(w, FRAME_TAIL, m, callee, PCCE_NONE, 0);
}

/* ---- climb: from a function to the root of its segment --------------------------- */

static enum decode_reason climb(struct walk *w)
{
	const struct table *t = w->m->table;
	uint64_t steps = t->head->funcs.count;

	if (w->id >= PCCE_ID_LOST_MIN)
		return REASON_LOST_ID;
	for (;;) {
		const struct pcce_table_edge *e;
		const struct pcce_table_site *s;
		uint32_t i = table_in_edge(t, w->func, w->id);

		if (i == PCCE_NONE) {
			if (w->id)
				return REASON_NO_EDGE;
			return t->funcs[w->func].flags & PCCE_FUNC_ROOT ? REASON_NONE : REASON_NOT_ROOT;
		}
		if (!steps--)
			return REASON_NO_EDGE; /* a table whose edges run in a circle */
		e = &t->edges[i];
		if (e->site == PCCE_NONE) {
			if (e->tail != w->func)
				emit_tail(w, w->m, e->tail, w->func);
			w->func = e->tail;
			return REASON_NONE;
		}
		s = &t->sites[e->site];
		if (s->callee != PCCE_NONE && s->callee != w->func)
			emit_tail(w, w->m, s->callee, w->func);
		emit_call(w, w->m, e->site);
		w->id -= e->value;
		w->func = s->func;
	}
}

/* ---- pop: from a root to who pushed ---------------------------------------------- */

/* What the site calls by name is the root, or, in another module, tail-calls it. */
static bool named_callee(struct walk *w, const char *name, bool other)
{
	const struct table *t = w->m->table;
	uint32_t path[TAIL_PATH_MAX];

	if (!strcmp(table_string(t, t->funcs[w->func].name), name))
		return true;
	for (uint64_t i = 0; other && i < t->head->tails.count; i++) {
		uint32_t from = t->tails[i].from;

		/* Only direct tail calls, and chains that are unique, are worth a look here. */
		if (strcmp(table_string(t, t->funcs[from].name), name))
			continue;
		if (table_tail_path(t, from, w->func, path, TAIL_PATH_MAX) < 0)
			continue;
		emit_tail(w, w->m, from, w->func);
		return true;
	}
	return false;
}

/* What lies between the call of a push site and the segment that was reached from it. */
static enum decode_reason between(struct walk *w, const struct mapped_module *m, uint32_t site)
{
	const struct pcce_table_site *s = &m->table->sites[site];
	bool tail_out = s->callee != PCCE_NONE && m->table->funcs[s->callee].flags & PCCE_FUNC_TAIL_OUT;

	if (w->inner == INNER_UNKNOWN)
		return REASON_NONE;
	if (w->inner == INNER_FOREIGN) {
		if (tail_out)
			emit_tail(w, m, s->callee, PCCE_NONE);
		return REASON_NONE;
	}
	if (s->callee != PCCE_NONE) {
		bool same = m->table == w->m->table;

		if (same && s->callee == w->func)
			return REASON_NONE;
		if (tail_out)
			emit_tail(w, m, s->callee, PCCE_NONE);
		else if (same && tails_reach(w->ctx, m->table, s->callee, w->func, &w->no_memory))
			emit_tail(w, m, s->callee, w->func);
		else
			return REASON_WRONG_CALLEE;
		return REASON_NONE;
	}
	if (s->flags & PCCE_SITE_INDIRECT ||
	    named_callee(w, table_string(m->table, s->callee_name), m->table != w->m->table))
		return REASON_NONE;
	emit(w, FRAME_FOREIGN, NULL, PCCE_NONE, PCCE_NONE, 0);
	return REASON_NONE;
}

/* The segment frames[segment .. n), with frames[glue .. segment) between it and what it
 * called, was pushed `more` times more in a row. */
static enum decode_reason repeat(struct walk *w, const struct mapped_module *m, uint32_t site, size_t glue,
				 size_t segment, uint32_t more)
{
	struct context *ctx = w->ctx;
	size_t end = ctx->n, glue2, start = segment;
	enum decode_reason r;

	r = between(w, m, site);
	if (r || w->no_memory)
		return r;
	glue2 = ctx->n - end;
	if (glue2 == segment - glue && frames_same(&ctx->frames[glue], &ctx->frames[end], glue2)) {
		ctx->n = end;
		start = glue;
	} else if (glue2) {
		/* The innermost repetition hangs on something else than the others: it stands alone. */
		w->no_memory |= !frames_copy(ctx, segment, end - segment, 1);
		start = end;
		more--;
	}
	if (w->no_memory || !more)
		return REASON_NONE;
	if (w->expand) {
		w->no_memory |= !frames_copy(ctx, start, ctx->n - start, more);
		return REASON_NONE;
	}
	ctx->frames[ctx->n - 1].repeat = more;
	ctx->frames[ctx->n - 1].span = ctx->n - start;
	ctx->depth += (uint64_t)more * (ctx->n - start);
	return REASON_NONE;
}

static enum decode_reason pop(struct walk *w)
{
	const struct pcce_entry *e = &w->entries[w->top - 1];
	uint32_t more = entry_count(e) - w->used, site;
	const struct mapped_module *m = find_site(w, e->site & PCCE_SITE_MASK, PCCE_KIND_PUSH, &site);
	size_t glue = w->ctx->n, segment;
	enum decode_reason r;

	if (!m)
		return e->id >= PCCE_ID_LOST_MIN && !e->site ? REASON_LOST_ID : REASON_UNKNOWN_SITE;
	r = between(w, m, site);
	if (r)
		return r;
	drop_entry(w);
	segment = w->ctx->n;
	emit_call(w, m, site);
	w->m = m;
	w->func = m->table->sites[site].func;
	w->id = e->id;
	w->inner = INNER_ROOT;
	r = climb(w);
	if (r || !more || w->no_memory)
		return r;
	return repeat(w, m, site, glue, segment, more);
}

/* The thread's own stack ends here; below is its creator's. */
static enum decode_reason thread_began(struct walk *w)
{
	const struct pcce_entry *second = &w->entries[w->top - 1], *first = second - 1;
	uint64_t need = second->id;
	uint32_t bottom;

	if (w->top < 2 || w->top - 1 == w->gap || entry_count(first) != PCCE_COUNT_ORIGIN)
		return REASON_UNKNOWN_SITE;
	if (!w->ctx->origin)
		w->ctx->origin = w->top;
	w->used = 0;
	w->inner = INNER_FOREIGN;
	w->top -= 2;
	for (bottom = w->top; bottom && need; bottom--)
		need -= entry_count(&w->entries[bottom - 1]) != PCCE_COUNT_FILL;
	w->gap = need && w->origins ? 0 : UINT32_MAX;
	w->top -= w->origins ? bottom : w->top;
	if (!w->origins)
		return REASON_NONE;
	/* Nothing is below the creator's entries but what fills. */
	w->deeper = 0;
	w->entries += bottom;
	emit(w, FRAME_ORIGIN, NULL, PCCE_NONE, PCCE_NONE, 0);
	w->id = first->id;
	w->ext = first->site & PCCE_SITE_MASK;
	w->inner = INNER_ROOT;
	return caller_of_foreign(w);
}

/* A handler ran here: take up the interrupted state. Or something else that keeps a state in special entries. */
static enum decode_reason interrupted(struct walk *w)
{
	const struct pcce_entry *second = &w->entries[w->top - 1], *first;
	uint64_t ip;

	if (has_record(w)) {
		/* longjmp itself has called the program, a clean-up handler perhaps. */
		w->top -= 2;
		w->inner = INNER_FOREIGN;
		return REASON_NONE;
	}
	if (entry_count(second) == PCCE_COUNT_LEAF) {
		w->top--;
		w->used = 0;
		w->id = second->id;
		w->ext = second->site & PCCE_SITE_MASK;
		return called_as_leaf(w);
	}
	if (entry_count(second) == PCCE_COUNT_ORIGIN2)
		return thread_began(w);
	emit(w, FRAME_SIGNAL, NULL, PCCE_NONE, PCCE_NONE, 0);
	if (entry_count(second) != PCCE_COUNT_SIGNAL2)
		return REASON_UNKNOWN_SITE;
	w->top--;
	w->used = 0;
	if (!w->top || w->top == w->gap)
		return REASON_UNKNOWN_SITE;
	first = second - 1;
	if (entry_count(first) != PCCE_COUNT_SIGNAL)
		return REASON_UNKNOWN_SITE;
	w->top--;
	ip = first->site & PCCE_SITE_MASK;
	w->id = first->id;
	w->ext = second->id;
	return locate(w, ip, second->site & PCCE_SITE_MASK);
}

/* ---- all together ---------------------------------------------------------------- */

/* r: what came of the beginning. */
static enum decode_reason walk(struct walk *w, enum decode_reason r)
{
	for (;;) {
		if (r || w->no_memory)
			return r;
		if (w->inner == INNER_ROOT) {
			r = climb(w);
			if (r)
				return r;
		}
		/* Down to the next state that has to be climbed from. */
		for (;;) {
			enum top top = top_kind(w);

			if (w->no_memory || top == TOP_EMPTY)
				return REASON_NONE;
			if (top == TOP_SIGNAL) {
				r = interrupted(w);
				break;
			}
			if (top == TOP_GAP) {
				emit(w, FRAME_GAP, NULL, PCCE_NONE, PCCE_NONE, 0);
				w->truncated = true;
				w->gap = UINT32_MAX;
				w->inner = INNER_UNKNOWN;
				continue;
			}
			r = pop(w);
			if (r)
				return r;
		}
	}
}

/* No page: only ip is known. */
static void outside(struct walk *w, uint64_t ip)
{
	const struct mapped_module *m = w->as->find(w->as, ip);
	uint32_t func = m && m->table ? table_func_at(m->table, link_time(m, ip)) : PCCE_NONE;

	emit(w, func == PCCE_NONE ? FRAME_FOREIGN : FRAME_CALL, m, func, PCCE_NONE, ip);
}

static int finish(struct walk *w)
{
	struct context *ctx = w->ctx;

	if (w->truncated)
		ctx->status = DECODE_TRUNCATED;
	if (ctx->reason) {
		emit(w, FRAME_GAP, NULL, PCCE_NONE, PCCE_NONE, 0);
		ctx->status = DECODE_UNDECODABLE;
	}
	ctx->depth += ctx->n;
	return w->no_memory ? -ENOMEM : 0;
}

int decode_context(const struct address_space *as, const struct pcce_sample *sample, const struct pcce_entry *entries,
		   uint32_t n_entries, bool expand, bool origins, struct context *ctx)
{
	struct walk w = {
		.as = as,
		.entries = entries,
		.ctx = ctx,
		.expand = expand,
		.origins = origins,
		.id = sample->id,
		.ext = sample->ext,
		.n_entries = n_entries,
		.top = n_entries,
		.gap = UINT32_MAX,
	};
	uint64_t total = (uint64_t)sample->n_below * PCCE_SEGMENT_ENTRIES + sample->n_entries;

	frames_clear(ctx);
	if (sample->flags & PCCE_SAMPLE_OUTSIDE) {
		outside(&w, sample->ip);
		ctx->status = DECODE_OUTSIDE;
	} else if (sample->flags & PCCE_SAMPLE_READ_FAULT || n_entries > total) {
		outside(&w, sample->ip);
		ctx->reason = REASON_READ_FAULT;
	} else if (sample->flags & PCCE_SAMPLE_MIXED ||
		   (sample->flags & PCCE_SAMPLE_R11_MIXED && decode_needs_r11(as, sample->ip))) {
		outside(&w, sample->ip);
		ctx->reason = REASON_MIXED;
	} else {
		w.deeper = total - n_entries;
		if (w.deeper)
			w.gap = 0;
		ctx->reason = walk(&w, locate(&w, sample->ip, sample->r11));
	}
	return finish(&w);
}

int decode_origin(const struct address_space *as, const struct pcce_entry *entries, uint32_t n_entries, bool expand,
		  struct context *ctx)
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

	frames_clear(ctx);
	ctx->reason = walk(&w, n_entries ? thread_began(&w) : REASON_UNKNOWN_SITE);
	return finish(&w);
}

bool decode_needs_r11(const struct address_space *as, uint64_t ip)
{
	const struct mapped_module *m = as->find(as, ip);

	return m && m->table && table_helper_at(m->table, link_time(m, ip));
}
