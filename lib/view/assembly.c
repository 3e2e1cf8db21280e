/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shows the instructions of a function with the weight of the samples at each, in all selected
 * contexts, between the lines of their source. If the function was inlined, the functions that hold
 * its samples are shown. Slots, the code that pcce added, are one row.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <curses.h>
#include "base/array.h"
#include "base/sorted.h"
#include "base/text.h"
#include "symbols/assembly.h"
#include "symbols/source_file.h"
#include "view/assembly.h"
#include "view/draw.h"
#include "view/row_page.h"

struct sampled { /* an address */
	uint64_t vaddr, weight;
};

struct page {
	uint32_t module, name;
	struct sampled *samples; /* by address */
	size_t n_samples;
	bool outside; /* there are samples whose instructions no file has */
	struct view_instruction *rows;
	struct view_list list;
	struct source_file source; /* of source_name, the last file */
	const char *source_name;
};

/* ---- samples ----------------------------------------------------------------------- */

struct search {
	const struct profile *p;
	struct page *to;
};

static int add_cell(void *ctx, const struct profile_cell *cell)
{
	const struct search *s = ctx;
	const struct cct_key *key = s->p->tree.nodes[cell->node].key;
	struct page *to = s->to;

	if (key->name != to->name || key->module != to->module)
		return 0;
	if (!cell->place.vaddr || cell->place.module != to->module) {
		to->outside |= cell->weight != 0;
		return 0;
	}
	if (array_grow(&to->samples, to->n_samples, sizeof(*to->samples)))
		return -ENOMEM;
	to->samples[to->n_samples++] = (struct sampled){cell->place.vaddr, cell->weight};
	return 0;
}

COMPARE_BY1(compare_sampled, struct sampled, vaddr);

/* Sorts the samples, and joins those of one address. */
static void join_samples(struct page *page)
{
	size_t n = 0;

	if (page->n_samples)
		qsort(page->samples, page->n_samples, sizeof(*page->samples), compare_sampled);
	for (size_t i = 0; i < page->n_samples; i++) {
		if (n && page->samples[n - 1].vaddr == page->samples[i].vaddr)
			page->samples[n - 1].weight += page->samples[i].weight;
		else
			page->samples[n++] = page->samples[i];
	}
	page->n_samples = n;
}

/* The weight of the samples in [vaddr, vaddr + size). VIEW_NO_NUMBER: there are none. */
static uint64_t weight_in(const struct page *page, uint64_t vaddr, uint64_t size)
{
	size_t at = SORTED_COUNT(i, page->n_samples, page->samples[i].vaddr < vaddr);
	uint64_t sum = 0;

	for (; at < page->n_samples && page->samples[at].vaddr - vaddr < size; at++)
		sum += page->samples[at].weight;
	return sum ? sum : VIEW_NO_NUMBER;
}

/* ---- rows -------------------------------------------------------------------------- */

static int add_row(struct page *page, uint64_t self, uint64_t vaddr, enum screen_look look,
		   const char *text)
{
	char buffer[SOURCE_LINE_MAX];
	struct view_instruction *row;

	if (array_grow(&page->rows, page->list.n, sizeof(*page->rows)))
		return -ENOMEM;
	row = &page->rows[page->list.n];
	*row = (struct view_instruction){self, vaddr,
					 strdup(text_clean(text, buffer, sizeof(buffer))), look};
	if (!row->text)
		return -ENOMEM;
	page->list.n++;
	return 0;
}

static int add_source_row(struct page *page, const struct view *v, const struct assembly_line *l)
{
	char text[SOURCE_LINE_MAX + 256] = "", code[SOURCE_LINE_MAX];
	struct error why;

	if (page->source_name != l->file) {
		const uint8_t *id;
		size_t size = symbol_table_build_id(v->m.profile->names, page->module, &id);

		source_file_free(&page->source);
		page->source_name = l->file;
		if (source_file_read(l->file, &v->m.options->source, id, size, &page->source,
				     &why) == -ENOMEM)
			return -ENOMEM;
	}
	snprintf(text, sizeof(text), "%.200s:%u  %s", text_base(l->file), l->line,
		 source_file_line(&page->source, l->line - 1, code, sizeof(code)));
	return add_row(page, VIEW_NO_NUMBER, 0, LOOK_DIM, text);
}

static bool in_slot(const struct encoding_table *t, uint64_t vaddr)
{
	uint32_t func = encoding_table_func_at(t, vaddr), at;
	const struct pcce_table_site *site;

	if (func == PCCE_NONE)
		return false;
	if (encoding_table_in_entry(t, func, vaddr))
		return true;
	at = encoding_table_site_around(t, vaddr);
	if (at == PCCE_NONE)
		return false;
	site = &t->sites[at];
	return vaddr < site->key + site->restore_len || vaddr >= site->key + site->ret;
}

/* Adds one row for the slots from lines[i] on, and returns the index of the line behind them.
 * SIZE_MAX: no memory. */
static size_t add_slots(struct page *page, const struct encoding_table *t, const struct assembly *a,
			size_t i)
{
	uint64_t start = a->lines[i].vaddr, first = weight_in(page, start, 1), all;
	size_t end = i, bytes = 0;
	char text[100];
	int at;

	do
		bytes += a->lines[end++].size;
	while (end < a->n && !a->lines[end].function && in_slot(t, a->lines[end].vaddr));
	all = weight_in(page, start, bytes);
	at = snprintf(text, sizeof(text), "(pcce: %zu bytes", bytes);
	/* An interrupt comes late: samples at the first instruction are of the row above. */
	if (first != VIEW_NO_NUMBER)
		at += snprintf(text + at, sizeof(text) - at, "; %.0f%% of this at its start",
			       text_percent(first, all));
	snprintf(text + at, sizeof(text) - at, ")");
	return add_row(page, all, start, LOOK_DIM, text) ? SIZE_MAX : end;
}

static int add_rows(struct page *page, const struct view *v, const struct assembly *a)
{
	const struct encoding_table *t = symbol_table_table(v->m.profile->names, page->module);
	const struct assembly_line *source = NULL;

	for (size_t i = 0; i < a->n;) {
		const struct assembly_line *l = &a->lines[i];

		if (l->function && add_row(page, VIEW_NO_NUMBER, 0, LOOK_BOLD, l->function))
			return -ENOMEM;
		if (t && in_slot(t, l->vaddr)) {
			i = add_slots(page, t, a, i);
			if (i == SIZE_MAX)
				return -ENOMEM;
			continue;
		}
		if (l->line && (!source || source->file != l->file || source->line != l->line) &&
		    add_source_row(page, v, l))
			return -ENOMEM;
		source = l->line ? l : source;
		if (add_row(page, weight_in(page, l->vaddr, l->size), l->vaddr, LOOK_PLAIN,
			    l->text))
			return -ENOMEM;
		i++;
	}
	return 0;
}

static void free_page(struct page *page)
{
	for (size_t i = 0; i < page->list.n; i++)
		free(page->rows[i].text);
	free(page->rows);
	free(page->samples);
	source_file_free(&page->source);
}

/* 0, -ENOMEM, or another -errno with a sentence in why. */
static int read_assembly(const struct view *v, struct page *page, struct error *why)
{
	const struct profile *p = v->m.profile;
	struct search search = {p, page};
	int r = profile_cells(p, add_cell, &search);
	const uint8_t *id = NULL;
	size_t id_size = symbol_table_build_id(p->names, page->module, &id);
	struct assembly a = {0};
	uint64_t *vaddrs;

	if (r)
		return r;
	join_samples(page);
	if (!page->n_samples)
		return error_set(why, -ENOENT, "cannot show the code of %s: %s",
				 symbol_table_shown(p->names, page->name),
				 page->outside ? "it is of the kernel, or in no file"
					       : "no sample is in it");
	vaddrs = malloc(page->n_samples * sizeof(*vaddrs));
	if (!vaddrs)
		return -ENOMEM;
	for (size_t i = 0; i < page->n_samples; i++)
		vaddrs[i] = page->samples[i].vaddr;
	r = assembly_read(symbol_table_path(p->names, page->module), id, id_size, vaddrs,
			  page->n_samples, &a, why);
	if (!r)
		r = add_rows(page, v, &a);
	free(vaddrs);
	assembly_free(&a);
	return r;
}

/* ---- the page ---------------------------------------------------------------------- */

/* Goes to the row with the most samples, or (next) with the most after those of the current one. */
static void go_to_hottest(void *shown, bool next)
{
	struct page *page = shown;
	const struct view_instruction *rows = page->rows;
	size_t best = page->list.n, at = page->list.at;

	for (size_t i = 0; i < page->list.n; i++) {
		bool after =
			rows[i].self < rows[at].self || (rows[i].self == rows[at].self && i > at);

		if (rows[i].self == VIEW_NO_NUMBER ||
		    (next && rows[at].self != VIEW_NO_NUMBER && !after))
			continue;
		if (best == page->list.n || rows[i].self > rows[best].self)
			best = i;
	}
	if (best < page->list.n)
		view_list_go(&page->list, best);
	else if (next)
		go_to_hottest(page, false);
}

static bool search_rows(void *shown, const struct view_share *s, bool backward)
{
	struct page *page = shown;

	for (size_t i = 1; i <= page->list.n; i++) {
		size_t at = (page->list.at + (backward ? page->list.n - i : i)) % page->list.n;

		if (view_share_found_text(s, page->rows[at].text)) {
			view_list_go(&page->list, at);
			return true;
		}
	}
	return false;
}

static void draw_assembly(struct view *v, struct page *page)
{
	const struct symbol_table *names = v->m.profile->names;
	int width = screen_width(), bottom = screen_height() - 1;
	char text[5000], buffer[4096];

	erase();
	view_draw_head(v);
	snprintf(text, sizeof(text), "  address   %s, in all contexts",
		 text_clean(symbol_table_shown(names, page->name), buffer, sizeof(buffer)));
	view_columns_head(ASSEMBLY, VIEW_HEADINGS, text);
	page->list.height = view_body_height();
	view_list_fit(&page->list);
	for (size_t i = 0; i < page->list.height && page->list.top + i < page->list.n; i++) {
		const struct view_instruction *row = &page->rows[page->list.top + i];
		int y = VIEW_BODY + (int)i, x = view_columns_put(&v->share, ASSEMBLY, y, row);
		bool found = view_share_found_text(&v->share, row->text);

		snprintf(text, sizeof(text), row->vaddr ? "%10llx  " : "  ",
			 (unsigned long long)row->vaddr);
		x = screen_put(y, x, width, LOOK_DIM, text);
		screen_put(y, x, width, found ? LOOK_FOUND : row->look, row->text);
		if (page->list.top + i == page->list.at)
			screen_mark(y);
	}
	snprintf(text, sizeof(text), "  %zu/%zu  ? help", page->list.at + 1, page->list.n);
	width -= (int)strlen(text);
	screen_put(bottom, width, screen_width(), LOOK_DIM, text);
	screen_put(bottom, 0, width, *v->message ? LOOK_BOLD : LOOK_PLAIN,
		   *v->message ? v->message
			       : text_clean(symbol_table_path(names, page->module), buffer,
					    sizeof(buffer)));
}

int view_show_assembly(struct view *v)
{
	struct page page = {.name = view_current_name(v, &page.module)};
	const struct row_page keys = {&page.list, &page, go_to_hottest, search_rows};
	struct error why;
	bool over;
	int r;

	if (page.name == UINT32_MAX)
		return 0;
	r = read_assembly(v, &page, &why);
	if (!r) {
		page.list.height = view_body_height();
		go_to_hottest(&page, false);
		do {
			draw_assembly(v, &page);
			*v->message = 0;
			over = row_page_key(v, &keys, screen_key());
		} while (!over);
	} else if (r != -ENOMEM) {
		view_say(v, "%s", why.text);
		r = 0;
	}
	free_page(&page);
	return r;
}
