/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Takes entries from the encoding stack, finds sites, and adds frames: see walk.h. */
#include "decode/frames.h"
#include "decode/walk.h"
#include "elf/encoding_table.h"

void walk_emit(struct walk *w, enum decode_frame_kind kind, const struct decode_module *m,
	       uint32_t func, uint32_t site, uint64_t address)
{
	struct decode_frame f = {
		.kind = kind,
		.module = m ? m->module : UINT32_MAX,
		.func = func,
		.site = site,
		.address = address,
	};

	w->no_memory |= !decode_frames_add(w->ctx, &f);
}

void walk_mark_missing(struct walk *w)
{
	if (!w->as->missing)
		return;
	walk_emit(w, DECODE_FRAME_GAP, NULL, PCCE_NONE, PCCE_NONE, 0);
	w->not_encoded = true;
}

void walk_emit_call(struct walk *w, const struct decode_module *m, uint32_t site)
{
	const struct pcce_table_site *s = &m->table->sites[site];
	size_t at = w->ctx->n;

	if (!(m->table->funcs[s->func].flags & PCCE_FUNC_TYPE))
		walk_emit(w, DECODE_FRAME_CALL, m, s->func, site,
			  decode_run_time(m, s->key + s->restore_len));
	if (w->ctx->n > at)
		w->ctx->frames[at].open = w->open;
	w->open = false;
}

/* ---- the encoding stack ---------------------------------------------------------- */

enum walk_top walk_top(struct walk *w)
{
	while (w->top && w->top != w->gap &&
	       walk_entry_count(&w->entries[w->top - 1]) == PCCE_COUNT_FILL)
		w->top--;
	if (w->top == w->gap)
		return WALK_TOP_GAP;
	if (!w->top)
		return WALK_TOP_EMPTY;
	return walk_entry_count(&w->entries[w->top - 1]) > PCCE_COUNT_MAX ? WALK_TOP_SIGNAL
									  : WALK_TOP_ENTRY;
}

/* Is the record of a jump under way on top? See PCCE_COUNT_JUMP. */
bool walk_has_record(struct walk *w)
{
	return walk_top(w) == WALK_TOP_SIGNAL &&
	       walk_entry_count(&w->entries[w->top - 1]) == PCCE_COUNT_JUMP2 && w->top > 1 &&
	       w->top - 1 != w->gap && walk_entry_count(&w->entries[w->top - 2]) == PCCE_COUNT_JUMP;
}

void walk_drop_entry(struct walk *w)
{
	if (w->top && w->top != w->gap) {
		w->top--;
		w->used = 0;
	}
}

void walk_drop_repetition(struct walk *w)
{
	if (w->used < walk_entry_count(&w->entries[w->top - 1]))
		w->used++;
	else
		walk_drop_entry(w);
}

bool walk_settle(struct walk *w, uint64_t vaddr)
{
	const struct encoding_table *t = w->m->table;
	uint32_t size;

	if (!(t->head->flags & PCCE_TABLE_HYBRID) || w->id >= PCCE_ID_LOST_MIN)
		return true;
	if (!(t->funcs[w->func].flags & PCCE_FUNC_DEPTH)) {
		w->id &= ~0xffffffffULL;
		return true;
	}
	size = encoding_table_frame(t, vaddr);
	/* The base is below the return address of the segment's first function. */
	w->id = (w->id & ~0xffffffffULL) | (uint32_t)(w->id + 8 - size);
	return size != PCCE_NONE;
}

const struct decode_module *walk_find_module(const struct walk *w, uint64_t address)
{
	const struct decode_module *m = w->as->find(w->as, address);

	return m && m->table ? m : NULL;
}

/* Finds the site of that kind at a run-time address; NULL: there is none. */
const struct decode_module *walk_find_site(const struct walk *w, uint64_t address, uint8_t kind,
					   uint32_t *site)
{
	const struct decode_module *m = walk_find_module(w, address);

	if (!m)
		return NULL;
	*site = encoding_table_site_by_key(m->table, decode_link_time(m, address));
	return *site != PCCE_NONE && m->table->sites[*site].kind == kind ? m : NULL;
}

const struct decode_module *walk_find_ext(const struct walk *w, uint32_t *site)
{
	const struct decode_module *m = w->as->main_module(w->as);

	if (w->ext >> 32 || !m || !m->table)
		return walk_find_site(w, w->ext, PCCE_KIND_EXT, site);
	*site = encoding_table_site_by_key(m->table, w->ext);
	return *site != PCCE_NONE && m->table->sites[*site].kind == PCCE_KIND_EXT ? m : NULL;
}
