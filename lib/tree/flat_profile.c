/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the flat profile with a hash table of rows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/hash_table.h"
#include "tree/flat_profile.h"

HASH_TABLE_TYPE(row_table, uint32_t);

struct builder {
	const struct cct *tree;
	struct flat_profile *flat;
	bool lines;
	uint32_t *of;		     /* row of each node */
	struct row_table by_content; /* rows, index + 1 */
};

static uint64_t hash_row(const struct flat_profile_row *r)
{
	uint64_t h = ((uint64_t)r->module << 32 | r->name) * 0x9e3779b97f4a7c15ULL;

	return (h ^ ((uint64_t)r->file << 32 | r->line)) * 0xff51afd7ed558ccdULL >> 20;
}

static bool is_same_row(const struct flat_profile_row *r, const struct flat_profile_row *row)
{
	return r->module == row->module && r->name == row->name && r->file == row->file &&
	       r->line == row->line;
}

HASH_TABLE_FUNCTIONS(row_table, uint32_t, struct flat_profile_row, struct builder, *s,
		     hash_row(&o->flat->rows[*s - 1]), is_same_row(&o->flat->rows[*s - 1], key));

/* Gives each node its row. 0 or -ENOMEM. */
static int number_rows(struct builder *b)
{
	for (size_t i = 1; i < b->tree->n; i++) {
		const struct cct_node *n = &b->tree->nodes[i];
		struct flat_profile_row row = {
			.module = n->key->module,
			.name = n->key->name,
			.file = b->lines ? n->key->file : 0,
			.line = b->lines ? n->key->line : 0,
			.kind = n->key->kind,
			.flags = n->key->flags,
		};
		uint32_t *slot = row_table_slot(&b->by_content, b, hash_row(&row), &row);

		if (!slot)
			return -ENOMEM;
		if (!*slot) {
			b->flat->rows[b->flat->n] = row;
			row_table_fill(&b->by_content, slot, ++b->flat->n);
		}
		b->of[i] = *slot - 1;
		b->flat->rows[b->of[i]].self += n->self;
		b->flat->rows[b->of[i]].samples += n->samples;
		b->flat->rows[b->of[i]].cost += n->cost;
	}
	return 0;
}

/* Walks the tree and adds a node's total to its function, unless the function is already on the
 * path. */
static void sum_totals(const struct builder *b)
{
	const struct cct_node *nodes = b->tree->nodes;
	uint32_t node = nodes[0].child;

	while (node) {
		struct flat_profile_row *row = &b->flat->rows[b->of[node]];

		if (!row->active++) {
			row->total += nodes[node].total;
			row->total_cost += nodes[node].total_cost;
		}
		if (nodes[node].child) {
			node = nodes[node].child;
			continue;
		}
		for (;;) {
			b->flat->rows[b->of[node]].active--;
			if (nodes[node].next) {
				node = nodes[node].next;
				break;
			}
			node = nodes[node].parent;
			if (!node)
				return;
		}
	}
}

int flat_profile_build(const struct cct *t, bool lines, struct flat_profile *out)
{
	struct builder b = {.tree = t, .flat = out, .lines = lines};
	int r = -ENOMEM;

	out->n = 0;
	out->rows = malloc(t->n * sizeof(*out->rows));
	b.of = malloc(t->n * sizeof(*b.of));
	if (out->rows && b.of)
		r = number_rows(&b);
	if (!r)
		sum_totals(&b);
	else
		flat_profile_free(out);
	free(b.of);
	row_table_free(&b.by_content);
	return r;
}

void flat_profile_free(struct flat_profile *f)
{
	free(f->rows);
	*f = (struct flat_profile){0};
}

/* ---- order ----------------------------------------------------------------------- */

struct order_rules {
	const struct symbol_table *names;
	const struct cct_sort_order *keys;
};

static int compare_descending(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

static int compare_rows_by(const struct flat_profile_row *x, const struct flat_profile_row *y,
			   enum cct_sort_key key, const struct symbol_table *names)
{
	int c;

	switch (key) {
	case CCT_SORT_SELF:
		return compare_descending(x->self, y->self);
	case CCT_SORT_TOTAL:
		return compare_descending(x->total, y->total);
	case CCT_SORT_SAMPLES:
		return compare_descending(x->samples, y->samples);
	case CCT_SORT_NAME:
		return strcmp(symbol_table_string(names, x->name),
			      symbol_table_string(names, y->name));
	case CCT_SORT_MODULE:
		return strcmp(symbol_table_base(names, x->module),
			      symbol_table_base(names, y->module));
	case CCT_SORT_LINE:
		c = strcmp(symbol_table_string(names, x->file),
			   symbol_table_string(names, y->file));
		return c ? c : compare_descending(y->line, x->line);
	default:
		return 0;
	}
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	static const enum cct_sort_key always[] = {CCT_SORT_SELF, CCT_SORT_TOTAL, CCT_SORT_MODULE,
						   CCT_SORT_NAME, CCT_SORT_LINE};
	const struct flat_profile_row *x = a, *y = b;
	const struct order_rules *rules = ctx;
	int c = 0;

	for (size_t i = 0; i < rules->keys->n && !c; i++)
		c = compare_rows_by(x, y, rules->keys->keys[i], rules->names);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]) && !c; i++)
		c = compare_rows_by(x, y, always[i], rules->names);
	return c ? c : compare_descending(y->module, x->module);
}

void flat_profile_sort(struct flat_profile *f, const struct symbol_table *names,
		       const struct cct_sort_order *order)
{
	struct order_rules rules = {names, order};

	if (f->n)
		qsort_r(f->rows, f->n, sizeof(*f->rows), compare_rows, &rules);
}
