/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Interprets the registers of a sample and the state that they imply: see locate.h. */
#include <string.h>
#include "decode/landing.h"
#include "decode/locate.h"
#include "elf/encoding_table.h"

/*
 * Drops the newest entry, which was claimed and not filled.  After a handler at the end of a
 * segment, it could also be the fill entry that made room for the handler: then the sample is
 * undecodable.
 */
static enum decode_reason drop_claimed_entry(struct walk *w)
{
	if (w->top && w->top < w->n_entries && (w->deeper + w->top) % PCCE_SEGMENT_ENTRIES == 0 &&
	    walk_entry_count(&w->entries[w->top - 1]) == PCCE_COUNT_FILL)
		return DECODE_REASON_RESTORING;
	walk_drop_entry(w);
	return DECODE_REASON_NONE;
}

/* Undoes the push of this site. */
static enum decode_reason undo_push(struct walk *w, const struct decode_module *m, uint32_t site)
{
	const struct pcce_entry *e;

	switch (walk_top(w)) {
	case WALK_TOP_GAP:
		/* The entry with the id is not in the sample. A gap frame follows. */
		w->inner = WALK_INNER_UNKNOWN;
		return DECODE_REASON_NONE;
	case WALK_TOP_ENTRY:
		break;
	default:
		return DECODE_REASON_UNKNOWN_SITE;
	}
	e = &w->entries[w->top - 1];
	if ((e->site & PCCE_SITE_MASK) != decode_run_time(m, m->table->sites[site].key))
		return e->id >= PCCE_ID_LOST_MIN ? DECODE_REASON_LOST_ID
						 : DECODE_REASON_UNKNOWN_SITE;
	w->id = e->id;
	walk_drop_repetition(w);
	return DECODE_REASON_NONE;
}

/* Undoes the steps that a site has done at vaddr, by the rule of struct pcce_table_site. */
static enum decode_reason undo_site_window(struct walk *w, const struct decode_module *m,
					   uint32_t site, uint64_t vaddr)
{
	const struct pcce_table_site *s = &m->table->sites[site];
	uint64_t start = s->key - s->before, ret = s->key + s->ret;

	if (vaddr >= ret ? vaddr - ret >= s->undone : vaddr - start < s->claim)
		return DECODE_REASON_NONE;
	switch (s->kind) {
	case PCCE_KIND_ADD:
		if (vaddr < ret && vaddr - start < s->applied)
			return DECODE_REASON_NONE;
		if (s->flags & PCCE_SITE_IF_EXPLICIT && w->id >> 32 == 0)
			return DECODE_REASON_NONE;
		if (w->id < s->value)
			return DECODE_REASON_NO_EDGE;
		w->id -= s->value;
		return DECODE_REASON_NONE;
	case PCCE_KIND_PUSH:
		if (vaddr < ret && vaddr - start < s->applied)
			return drop_claimed_entry(w);
		return undo_push(w, m, site);
	default:
		return DECODE_REASON_NONE;
	}
}

/* Settles the state at a call of the current function, unless there is a reason not to. */
static enum decode_reason settle_at(struct walk *w, uint32_t site, enum decode_reason r)
{
	if (r || w->inner == WALK_INNER_UNKNOWN)
		return r;
	return walk_settle(w, w->m->table->sites[site].key) ? DECODE_REASON_NONE
							    : DECODE_REASON_NO_EDGE;
}

/* Finds the site of a push by its key, or that of a pop by the end of its after-slot. */
static const struct decode_module *find_helper_site(const struct walk *w, uint64_t address,
						    uint32_t *site, bool *pop)
{
	const struct decode_module *m = walk_find_module(w, address - 1);
	const struct pcce_table_site *s;
	uint64_t vaddr;

	if (!m)
		return NULL;
	vaddr = decode_link_time(m, address);
	*pop = false;
	*site = encoding_table_site_by_key(m->table, vaddr);
	/* A site that begins at a slot's end, such as a restore site, is not the pop's site. */
	if (*site == PCCE_NONE || m->table->sites[*site].kind != PCCE_KIND_PUSH) {
		*pop = true;
		*site = encoding_table_site_around(m->table, vaddr - 1);
		if (*site == PCCE_NONE)
			return NULL;
		s = &m->table->sites[*site];
		if (s->key + s->ret + s->after_len != vaddr)
			return NULL;
	}
	return m->table->sites[*site].kind == PCCE_KIND_PUSH ? m : NULL;
}

/* Locates a sample in a push or pop helper. r11 names the slot that called it. */
static enum decode_reason locate_in_helper(struct walk *w, uint32_t state, uint64_t r11)
{
	const struct pcce_table_site *s;
	const struct decode_module *m;
	uint32_t site;
	bool pop;

	m = find_helper_site(w, r11, &site, &pop);
	if (!m)
		return DECODE_REASON_UNKNOWN_SITE;
	s = &m->table->sites[site];
	w->m = m;
	w->func = s->func;
	walk_emit(w, DECODE_FRAME_CALL, m, s->func, PCCE_NONE,
		  decode_run_time(m, s->key + s->restore_len));
	/* While the helper moves to another segment, ext also names the slot. */
	if (w->ext && w->ext != r11)
		return DECODE_REASON_STALE_EXT;
	switch (state) {
	case PCCE_HELPER_CLAIMED:
		return settle_at(w, site, drop_claimed_entry(w));
	case PCCE_HELPER_PUSHED:
		return settle_at(w, site, undo_push(w, m, site));
	default:
		return settle_at(w, site, DECODE_REASON_NONE);
	}
}

/* See locate.h. */
enum decode_reason decode_locate_caller_of_foreign(struct walk *w)
{
	const struct decode_module *m;
	uint32_t site;
	bool pop = false;

	if (w->ext == PCCE_EXT_CHANGING)
		return DECODE_REASON_RESTORING;
	if (walk_has_record(w)) {
		/* The jump has not arrived yet. */
		w->top -= 2;
		w->ext = 0;
	}
	if (!w->ext) {
		/*
		 * A call out of the module is a push or sets ext. The id is the one that the caller
		 * or a callback left.
		 */
		w->inner = WALK_INNER_FOREIGN;
		return w->id >= PCCE_ID_LOST_MIN ? DECODE_REASON_LOST_ID : DECODE_REASON_NONE;
	}
	m = walk_find_ext(w, &site);
	if (m && m->table->sites[site].callee != PCCE_NONE)
		return DECODE_REASON_STALE_EXT; /* its callee is instrumented */
	if (m) {
		w->m = m;
		w->func = m->table->sites[site].func;
		walk_emit_call(w, m, site);
		return settle_at(w, site, DECODE_REASON_NONE);
	}
	/*
	 * Or ext names a push or pop that moves to another segment: its call has not begun, or has
	 * ended.
	 */
	m = find_helper_site(w, w->ext, &site, &pop);
	if (!m)
		return DECODE_REASON_UNKNOWN_SITE;
	w->m = m;
	w->func = m->table->sites[site].func;
	walk_emit(
		w, DECODE_FRAME_CALL, m, w->func, PCCE_NONE,
		decode_run_time(m, m->table->sites[site].key + m->table->sites[site].restore_len));
	return settle_at(w, site, pop ? undo_push(w, m, site) : DECODE_REASON_NONE);
}

static enum decode_reason locate_in_foreign(struct walk *w, const struct decode_module *m,
					    uint64_t ip)
{
	walk_emit(w, DECODE_FRAME_FOREIGN, m, PCCE_NONE, PCCE_NONE, ip);
	/* A leaf callee calls nobody. */
	if (!w->ext)
		walk_mark_missing(w);
	return decode_locate_caller_of_foreign(w);
}

/* See locate.h. */
enum decode_reason decode_locate_called_as_leaf(struct walk *w)
{
	const struct decode_module *m;
	uint32_t site;

	if (!w->ext)
		return DECODE_REASON_UNKNOWN_SITE;
	m = walk_find_ext(w, &site);
	if ((w->inner == WALK_INNER_ROOT || w->inner == WALK_INNER_ENTERED) &&
	    !(m && !strcmp(encoding_table_string(m->table, m->table->sites[site].callee_name),
			   encoding_table_string(w->m->table, w->m->table->funcs[w->func].name))))
		walk_emit(w, DECODE_FRAME_FOREIGN, NULL, PCCE_NONE, PCCE_NONE, 0);
	w->inner = WALK_INNER_ROOT;
	return decode_locate_caller_of_foreign(w);
}

/* Takes the state from the record of a jump that has ended at the site in ext. */
static enum decode_reason apply_record(struct walk *w)
{
	const struct pcce_entry *record = &w->entries[w->top - 2];
	uint64_t position = record[0].site & PCCE_SITE_MASK, word = record[1].id, target;
	uint32_t used = position & PCCE_OFF_USED;

	if ((record[1].site & PCCE_SITE_MASK) != w->ext)
		return DECODE_REASON_STALE_EXT;
	w->id = record[0].id;
	target = (position >> 16) * PCCE_SEGMENT_ENTRIES + used / sizeof(*record);
	if (target < w->deeper) {
		w->top = 0; /* in the gap */
		return DECODE_REASON_NONE;
	}
	target -= w->deeper;
	if (used > PCCE_OFF_FULL || target > w->top)
		return DECODE_REASON_UNKNOWN_SITE;
	w->top = target;
	if (target && used) {
		uint64_t now = w->entries[target - 1].site;

		/* The top entry may have been repeated since. */
		if (now < word || (now ^ word) & PCCE_SITE_MASK ||
		    (now != word && now >> PCCE_SITE_BITS > PCCE_COUNT_MAX))
			return DECODE_REASON_UNKNOWN_SITE;
		w->used = (now - word) >> PCCE_SITE_BITS;
	}
	return DECODE_REASON_NONE;
}

/*
 * Does ext name a call of setjmp or a similar function that returns or has returned? See
 * docs/slots.md.
 */
static bool ext_returns_twice(const struct walk *w, const struct decode_module **m, uint32_t *site)
{
	if (!w->ext)
		return false;
	*m = walk_find_ext(w, site);
	return *m && (*m)->table->sites[*site].flags & PCCE_SITE_RETURNS_TWICE;
}

/* Continues at the call that threw the exception which landed at this restore site. */
static enum decode_reason locate_thrower(struct walk *w, uint32_t restore)
{
	enum decode_reason r = decode_landing_begin(w, restore);

	return r ? r : decode_locate_caller_of_foreign(w);
}

/* Locates a sample in __pcce_restore or in code with the same effect. */
static enum decode_reason locate_in_restore(struct walk *w, const struct decode_module *m,
					    uint32_t state, uint64_t ip, uint64_t r11)
{
	const struct pcce_table_site *s;
	uint32_t site;

	if (ext_returns_twice(w, &w->m, &site)) {
		s = &w->m->table->sites[site];
		w->func = s->func;
		walk_emit(w, DECODE_FRAME_CALL, w->m, w->func, PCCE_NONE,
			  decode_run_time(w->m, s->key + s->restore_len));
		return settle_at(w, site,
				 walk_has_record(w) ? apply_record(w) : DECODE_REASON_NONE);
	}
	w->m = state == PCCE_HELPER_RESTORING ? NULL
					      : walk_find_site(w, r11, PCCE_KIND_RESTORE, &site);
	if (!w->m) {
		walk_emit(w, DECODE_FRAME_FOREIGN, m, PCCE_NONE, PCCE_NONE, ip);
		return DECODE_REASON_RESTORING;
	}
	w->func = w->m->table->sites[site].func;
	walk_emit(w, DECODE_FRAME_CALL, w->m, w->func, PCCE_NONE, r11);
	if (state != PCCE_HELPER_LANDED)
		return locate_thrower(w, site);
	/* The base is back, and the stack pointer of the function is not known here. */
	return w->m->table->funcs[w->func].flags & PCCE_FUNC_DEPTH
		       ? DECODE_REASON_RESTORING
		       : settle_at(w, site, DECODE_REASON_NONE);
}

/* Locates a sample in code that has claimed two entries and not filled them. */
static enum decode_reason locate_in_jump(struct walk *w, const struct decode_module *m, uint64_t ip)
{
	enum decode_reason r = drop_claimed_entry(w);

	if (r) {
		walk_emit(w, DECODE_FRAME_FOREIGN, m, PCCE_NONE, PCCE_NONE, ip);
		return r;
	}
	walk_drop_entry(w);
	return locate_in_foreign(w, m, ip);
}

/* See locate.h. */
enum decode_reason decode_locate(struct walk *w, uint64_t ip, uint64_t r11)
{
	const struct decode_module *m = w->as->find(w->as, ip);
	const struct pcce_table_helper *h;
	const struct decode_module *ext_module;
	uint32_t site, ext_site = PCCE_NONE;
	enum decode_reason r;
	uint64_t vaddr;

	w->inner = WALK_INNER_ROOT;
	if (!m || !m->table)
		return locate_in_foreign(w, m, ip);
	vaddr = decode_link_time(m, ip);
	h = encoding_table_helper_at(m->table, vaddr);
	if (h && (h->state == PCCE_HELPER_RESTORING || h->state == PCCE_HELPER_LANDING ||
		  h->state == PCCE_HELPER_LANDED))
		return locate_in_restore(w, m, h->state, ip, r11);
	if (h && h->state == PCCE_HELPER_HANDLER) {
		walk_emit(w, DECODE_FRAME_FOREIGN, m, PCCE_NONE, PCCE_NONE, ip);
		return DECODE_REASON_RESTORING;
	}
	if (h && h->state == PCCE_HELPER_JUMPING)
		return locate_in_jump(w, m, ip);
	if (h)
		return locate_in_helper(w, h->state, r11);
	w->func = encoding_table_func_at(m->table, vaddr);
	if (w->func == PCCE_NONE)
		return locate_in_foreign(w, m, ip);
	w->m = m;
	walk_emit(w, DECODE_FRAME_CALL, m, w->func, PCCE_NONE, ip);
	if (encoding_table_in_entry(m->table, w->func, vaddr))
		w->inner = WALK_INNER_ENTERED;
	site = encoding_table_site_around(m->table, vaddr);
	if (ext_returns_twice(w, &ext_module, &ext_site) && ext_module->table == m->table &&
	    m->table->sites[ext_site].func == w->func) {
		if (walk_has_record(w)) {
			r = apply_record(w);
			if (r)
				return r;
		}
	} else if (w->ext == PCCE_EXT_CHANGING) {
		return DECODE_REASON_RESTORING;
	} else if (site != PCCE_NONE && m->table->sites[site].kind == PCCE_KIND_RESTORE) {
		return locate_thrower(w, site);
	} else if (w->ext && w->inner == WALK_INNER_ENTERED) {
		return decode_locate_called_as_leaf(w);
	} else if (w->ext) {
		ext_module = walk_find_ext(w, &ext_site);
		if (!ext_module || ext_module->table != m->table)
			return DECODE_REASON_STALE_EXT;
		if (m->table->sites[ext_site].callee == w->func) {
			/* That call called it; the id is the caller's. */
			w->func = m->table->sites[ext_site].func;
			walk_emit_call(w, m, ext_site);
			return settle_at(w, ext_site, DECODE_REASON_NONE);
		}
		if (ext_site != site)
			return DECODE_REASON_STALE_EXT;
	}
	if (w->interrupted && encoding_table_has_base(m->table, vaddr, w->ext))
		return DECODE_REASON_INTERRUPTED;
	r = site == PCCE_NONE ? DECODE_REASON_NONE : undo_site_window(w, m, site, vaddr);
	if (!r && w->inner == WALK_INNER_ROOT && !walk_settle(w, vaddr))
		r = DECODE_REASON_NO_EDGE;
	return r;
}
