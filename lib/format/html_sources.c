/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the source files of a profile for its page: those of the sampled lines, and of the lines
 * that call them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "format/html_sources.h"

/* Browsers take seconds for more. */
#define MOST_TEXT (32 << 20)

struct used_file {
	uint32_t file, module; /* module: one of those that have it */
	uint64_t weight;       /* of its sampled lines and its calls */
};

struct used_files {
	struct used_file *list;
	size_t n;
};

static int use_file(struct used_files *u, uint32_t file, uint32_t module, uint64_t weight)
{
	if (!file || module == UINT32_MAX)
		return 0;
	if (array_grow(&u->list, u->n, sizeof(*u->list)))
		return -ENOMEM;
	u->list[u->n++] = (struct used_file){file, module, weight};
	return 0;
}

COMPARE_BY2(compare_files, struct used_file, file, module);

static int heavier_file(const void *a, const void *b)
{
	const struct used_file *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->file < y->file ? -1 : x->file > y->file;
}

/* Makes one of all uses of a file, and sorts the files by weight. */
static void join_uses(struct used_files *u)
{
	size_t n = 0;

	if (u->n)
		qsort(u->list, u->n, sizeof(*u->list), compare_files);
	for (size_t i = 0; i < u->n; i++) {
		if (n && u->list[n - 1].file == u->list[i].file)
			u->list[n - 1].weight += u->list[i].weight;
		else
			u->list[n++] = u->list[i];
	}
	u->n = n;
	if (n)
		qsort(u->list, n, sizeof(*u->list), heavier_file);
}

static int find_files(const struct profile *p, struct used_files *u)
{
	int r = 0;

	for (size_t i = 0; i < p->n_leaves && !r; i++) {
		const struct tree_leaf *leaf = &p->leaves[i];

		if (leaf->weight && leaf->node != UINT32_MAX)
			r = use_file(u, leaf->file, p->tree.nodes[leaf->node].key->module,
				     leaf->weight);
	}
	for (size_t i = 1; i < p->tree.n && !r; i++) {
		const struct cct_node *n = &p->tree.nodes[i];

		r = use_file(u, n->key->file, p->tree.nodes[n->parent].key->module, n->total);
	}
	join_uses(u);
	return r;
}

static size_t size_of_text(const struct source_file *f)
{
	size_t size = 0;

	for (size_t i = 0; i < f->n; i++)
		size += strlen(f->lines[i]) + 1;
	return size;
}

static int read_files(const struct profile *p, const struct format_options *o,
		      const struct used_files *u, struct html_sources *to)
{
	size_t size = 0, missing = 0, large = 0;
	struct error why, first;

	for (size_t i = 0; i < u->n; i++) {
		struct html_source s = {.file = u->list[i].file};
		const uint8_t *id = NULL;
		size_t id_size = symbol_table_build_id(p->names, u->list[i].module, &id);
		int r = source_file_read(symbol_table_string(p->names, s.file), o->source, id,
					 id_size, &s.text, &why);

		if (r == -ENOMEM)
			return r;
		if (r) {
			/* Few have the source of the system's libraries. */
			if (symbol_table_table(p->names, u->list[i].module) && !missing++)
				first = why;
			continue;
		}
		if (size + size_of_text(&s.text) > MOST_TEXT) {
			source_file_free(&s.text);
			large++;
			continue;
		}
		size += size_of_text(&s.text);
		if (array_grow(&to->files, to->n, sizeof(*to->files))) {
			source_file_free(&s.text);
			return -ENOMEM;
		}
		to->files[to->n++] = s;
	}
	if (missing)
		format_remark(o, "%s", first.text);
	if (missing > 1)
		format_remark(o, "cannot find %zu other source file%s, either", missing - 1,
			      missing > 2 ? "s" : "");
	if (large)
		format_remark(o, "%zu source files are not in the page: it would be too large",
			      large);
	if (!u->n)
		format_remark(o, "no source file is known: compile the program with -g");
	return 0;
}

int html_sources_read(const struct profile *p, const struct format_options *o,
		      struct html_sources *to)
{
	struct used_files u = {0};
	int r = find_files(p, &u);

	if (!r)
		r = read_files(p, o, &u, to);
	free(u.list);
	if (r || !to->n)
		return r;
	to->places = calloc(p->n_leaves + 1, sizeof(*to->places));
	if (!to->places)
		return -ENOMEM;
	to->n_places = p->n_leaves;
	for (size_t i = 0; i < p->n_leaves; i++)
		to->places[i] = (struct html_place){p->leaves[i].file, p->leaves[i].line};
	return 0;
}

void html_sources_free(struct html_sources *s)
{
	for (size_t i = 0; i < s->n; i++)
		source_file_free(&s->files[i].text);
	free(s->files);
	free(s->places);
}
