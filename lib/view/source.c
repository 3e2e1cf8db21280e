/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Collects the costs of a function's lines, and draws its source code with them. A line's self
 * weight comes from the samples that were taken in it. Its total also includes what it called. A
 * function can have lines in several files (by a macro or #include). The file with the largest
 * weight is shown.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/text.h"
#include "tree/flat_profile.h"
#include "format/format.h"
#include "view/columns.h"
#include "view/screen.h"
#include "view/source.h"

struct found { /* one line, as found in the profile */
	uint32_t file, line;
	uint64_t self, total;
	uint32_t callee;
};

struct found_list {
	struct found *list;
	size_t n;
};

static int add_found_line(struct found_list *l, const struct found *f)
{
	if (array_grow(&l->list, l->n, sizeof(*l->list)))
		return -ENOMEM;
	l->list[l->n++] = *f;
	return 0;
}

COMPARE_BY2(compare_found_lines, struct found, file, line);

/* Returns the file with the largest weight; 0: no line is known. */
static uint32_t main_file(struct found_list *l)
{
	uint32_t best = 0;
	uint64_t most = 0;

	if (l->n)
		qsort(l->list, l->n, sizeof(*l->list), compare_found_lines);
	for (size_t i = 0; i < l->n;) {
		uint32_t file = l->list[i].file;
		uint64_t weight = 0;

		for (; i < l->n && l->list[i].file == file; i++)
			weight += l->list[i].total;
		if (file && (!best || weight > most)) {
			best = file;
			most = weight;
		}
	}
	return best;
}

/* Limits the memory that a damaged recording can make us use. */
#define LINE_MAX_NUMBER (1u << 22)

static int take_lines(struct view_source *v, const struct found_list *l)
{
	size_t last = v->text.n;

	for (size_t i = 0; i < l->n; i++)
		if (l->list[i].file == v->file && l->list[i].line > last &&
		    l->list[i].line <= LINE_MAX_NUMBER)
			last = l->list[i].line;
	v->lines = calloc(last + 1, sizeof(*v->lines));
	if (!v->lines)
		return -ENOMEM;
	v->n = v->list.n = last;
	for (size_t i = 0; i < l->n; i++) {
		const struct found *f = &l->list[i];
		struct view_line *line;

		if (f->file != v->file || !f->line || f->line > last) {
			v->elsewhere += f->self;
			continue;
		}
		line = &v->lines[f->line - 1];
		line->self += f->self;
		line->total += f->total;
		if (f->callee && !line->callee)
			line->callee = f->callee;
	}
	return 0;
}

static int show_lines(struct view_source *v, const struct profile *p, struct found_list *l,
		      uint32_t module, const struct source_file_dirs *dirs, struct error *why)
{
	const uint8_t *id = NULL;
	size_t id_size = symbol_table_build_id(p->names, module, &id);
	int r;

	v->file = main_file(l);
	if (!v->file)
		return error_set(why, -ENOENT,
				 "cannot show %s: no line numbers; compile it with -g",
				 symbol_table_string(p->names, v->name));
	r = source_file_read(symbol_table_string(p->names, v->file), dirs, id, id_size, &v->text,
			     &v->why);
	if (r == -ENOMEM)
		return r;
	r = take_lines(v, l);
	v->list.height = screen_height() > 4 ? (size_t)screen_height() - 4 : 1;
	if (!r)
		view_source_hottest(v, false);
	return r;
}

int view_source_context(struct view_source *v, const struct profile *p, const struct cct *tree,
			const uint32_t *leaf_node, uint32_t node,
			const struct source_file_dirs *dirs, struct error *why)
{
	const struct cct_node *n = &tree->nodes[node];
	struct found_list l = {0};
	int r = 0;

	*v = (struct view_source){.name = n->key->name};
	for (size_t i = 0; i < p->n_leaves && !r; i++) {
		const struct tree_leaf *leaf = &p->leaves[i];

		if (leaf_node[i] == node)
			r = add_found_line(&l, &(struct found){leaf->file, leaf->line, leaf->weight,
							       leaf->weight, 0});
	}
	/* Children are sorted by weight, so the first one of a line is the heaviest. */
	for (uint32_t c = n->child; c && !r; c = tree->nodes[c].next) {
		const struct cct_node *child = &tree->nodes[c];

		r = add_found_line(&l, &(struct found){child->key->file, child->key->line, 0,
						       child->total, c});
	}
	if (!r)
		r = show_lines(v, p, &l, n->key->module, dirs, why);
	free(l.list);
	if (r)
		view_source_free(v);
	return r;
}

int view_source_function(struct view_source *v, const struct profile *p, uint32_t module,
			 uint32_t name, const struct source_file_dirs *dirs, struct error *why)
{
	static const struct selection lines = {.by = SELECT_BY_LINE};
	struct found_list l = {0};
	struct flat_profile flat;
	struct cct tree;
	int r = profile_detail(p, &lines, &tree);

	*v = (struct view_source){.name = name};
	if (r)
		return r;
	r = flat_profile_build(&tree, true, &flat);
	cct_free(&tree);
	if (r)
		return r;
	for (size_t i = 0; i < flat.n && !r; i++) {
		const struct flat_profile_row *row = &flat.rows[i];

		if (row->name == name && row->module == module)
			r = add_found_line(&l, &(struct found){row->file, row->line, row->self,
							       row->total, 0});
	}
	flat_profile_free(&flat);
	if (!r)
		r = show_lines(v, p, &l, module, dirs, why);
	free(l.list);
	if (r)
		view_source_free(v);
	return r;
}

void view_source_free(struct view_source *v)
{
	free(v->lines);
	source_file_free(&v->text);
	*v = (struct view_source){0};
}

/* Whether line a comes before line b in the order of weight. */
static bool is_hotter(const struct view_source *v, size_t a, size_t b)
{
	const struct view_line *x = &v->lines[a], *y = &v->lines[b];

	if (x->self != y->self)
		return x->self > y->self;
	if (x->total != y->total)
		return x->total > y->total;
	return a < b;
}

void view_source_hottest(struct view_source *v, bool next)
{
	size_t current = v->list.at, best = v->n;

	for (size_t i = 0; i < v->n; i++) {
		if (!v->lines[i].total || (next && !is_hotter(v, current, i)))
			continue;
		if (best == v->n || is_hotter(v, i, best))
			best = i;
	}
	if (best == v->n && next)
		view_source_hottest(v, false);
	else if (best < v->n)
		view_list_go(&v->list, best);
}

bool view_source_search(struct view_source *v, const struct view_share *s, bool backward)
{
	for (size_t i = 1; i <= v->text.n; i++) {
		size_t at = (v->list.at + (backward ? v->text.n - i : i)) % v->text.n;

		if (view_share_found_text(s, v->text.lines[at])) {
			view_list_go(&v->list, at);
			return true;
		}
	}
	return false;
}

void view_source_draw(struct view_source *v, const struct view_share *s, int top, int height)
{
	const struct view_line unknown = {.self = VIEW_NO_NUMBER, .total = VIEW_NO_NUMBER};
	int width = screen_width();

	v->list.height = height;
	view_list_fit(&v->list);
	for (int i = 0; i < height && v->list.top + i < v->n; i++) {
		size_t at = v->list.top + i;
		const struct view_line *line = &v->lines[at];
		bool known = at < v->text.n;
		char text[SOURCE_LINE_MAX];
		int y = top + i, x = view_columns_put(s, SOURCE, y, line->total ? line : &unknown);

		snprintf(text, sizeof(text), " %5zu  ", at + 1);
		x = screen_put(y, x, width, LOOK_DIM, text);
		source_file_line(&v->text, at, text, sizeof(text));
		screen_put(y, x, width,
			   known && view_share_found_text(s, v->text.lines[at]) ? LOOK_FOUND
			   : line->total					? LOOK_BOLD
										: LOOK_PLAIN,
			   text);
		if (at == v->list.at)
			screen_mark(y);
	}
}
