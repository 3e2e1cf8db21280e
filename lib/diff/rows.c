/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Collects the changes of functions and contexts, with their significance, in rows. Rows of
 * functions are found by name in a hash table, because addresses differ between builds. A
 * function's total counts each context once, at the function's outermost frame.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "diff/diff.h"
#include "base/array.h"
#include "base/id_map.h"

struct tables {
	const struct diff *d;
	enum diff_what what;
	struct id_map numbers; /* row numbers by name */
	struct diff_row *rows;
	size_t n;
	uint32_t *on_path; /* by row: frames of the function on the current path */
};

/* Returns the row of a node's function; UINT32_MAX: no memory. */
static uint32_t row_of(struct tables *t, uint32_t node)
{
	uint32_t name = t->d->tree.nodes[node].key->name;
	uint64_t words[ID_MAP_WORDS] = {name};
	struct id_map_entry *e = id_map_find(&t->numbers, words);

	if (!e || e->number)
		return e ? e->number - 1 : UINT32_MAX;
	if (array_grow(&t->rows, t->n, sizeof(*t->rows)) ||
	    array_grow(&t->on_path, t->n, sizeof(*t->on_path)))
		return UINT32_MAX;
	t->rows[t->n] = (struct diff_row){.name = name};
	t->on_path[t->n] = 0;
	id_map_fill(&t->numbers, e, words, t->n);
	return t->n++;
}

static int visit_node(struct tables *t, uint32_t node, int by)
{
	const struct cct_node *n = &t->d->tree.nodes[node];
	uint32_t row = row_of(t, node);

	if (row == UINT32_MAX)
		return -ENOMEM;
	if (by > 0 && t->what == DIFF_SELVES) {
		t->rows[row].share.is += n->self;
		t->rows[row].share.was += t->d->was[node].self;
	} else if (by > 0 && !t->on_path[row]) {
		t->rows[row].share.is += n->total;
		t->rows[row].share.was += t->d->was[node].total;
	}
	t->on_path[row] += by;
	return 0;
}

static int add_function_rows(struct tables *t)
{
	const struct cct_node *nodes = t->d->tree.nodes;
	uint32_t node = nodes[0].child;
	int r = 0;

	while (node && !r) {
		r = visit_node(t, node, 1);
		if (!r && nodes[node].child) {
			node = nodes[node].child;
			continue;
		}
		while (node && !r) {
			r = visit_node(t, node, -1);
			if (nodes[node].next) {
				node = nodes[node].next;
				break;
			}
			node = nodes[node].parent;
		}
	}
	return r;
}

static int add_context_rows(struct tables *t)
{
	for (size_t i = 0; i < t->d->tree.n; i++) {
		struct diff_row row = {.node = i};

		row.share.is = t->d->tree.nodes[i].self;
		row.share.was = t->d->was[i].self;
		if (!row.share.is && !row.share.was)
			continue;
		if (array_grow(&t->rows, t->n, sizeof(*t->rows)))
			return -ENOMEM;
		t->rows[t->n++] = row;
	}
	return 0;
}

static int compare_equal_rows(const struct diff_row *x, const struct diff_row *y)
{
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int compare_rows_by_share(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	double cx = fabs(x->share.change), cy = fabs(y->share.change);

	return cx > cy ? -1 : cx < cy ? 1 : compare_equal_rows(x, y);
}

static int compare_rows_by_value(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	double cx = fabs(x->absolute.change), cy = fabs(y->absolute.change);

	return cx > cy ? -1 : cx < cy ? 1 : compare_equal_rows(x, y);
}

static int judge_rows(struct tables *t, bool absolute)
{
	struct diff_change *shares = malloc((t->n + 1) * sizeof(*shares)),
			   *values = malloc((t->n + 1) * sizeof(*values));
	int r = shares && values ? 0 : -ENOMEM;

	for (size_t i = 0; !r && i < t->n; i++) {
		uint64_t was = t->rows[i].share.was, is = t->rows[i].share.is;

		shares[i] = diff_change(was, t->d->was[0].total, is, t->d->tree.nodes[0].total);
		values[i] = diff_absolute(was, t->d->value_was, is, t->d->value_is);
	}
	r = r ? r : diff_judge(shares, t->n);
	r = r ? r : diff_judge(values, t->n);
	for (size_t i = 0; !r && i < t->n; i++) {
		t->rows[i].share = shares[i];
		t->rows[i].absolute = values[i];
	}
	free(shares);
	free(values);
	if (!r && t->n)
		qsort(t->rows, t->n, sizeof(*t->rows),
		      absolute ? compare_rows_by_value : compare_rows_by_share);
	return r;
}

int diff_rows(const struct diff *d, enum diff_what what, bool absolute, struct diff_row **rows,
	      size_t *n)
{
	struct tables t = {.d = d, .what = what};
	int r = what == DIFF_CONTEXTS ? add_context_rows(&t) : add_function_rows(&t);

	r = r ? r : judge_rows(&t, absolute);
	id_map_free(&t.numbers);
	free(t.on_path);
	if (r) {
		free(t.rows);
		return r;
	}
	*rows = t.rows;
	*n = t.n;
	return 0;
}
