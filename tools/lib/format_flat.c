/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One line a function: what it used itself, and what it used with all that it called.
 * A function that is on a context more than once counts once there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/format.h"

struct function {
	uint32_t module, name;
	uint64_t self, total, samples;
	uint32_t active; /* how often it is on the path that is being walked */
};

static int by_self(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

struct functions {
	struct function *list;
	size_t n, capacity;
	uint32_t *slots; /* index + 1 */
	size_t n_slots;
};

static uint32_t *find_slot(const struct functions *f, uint32_t module, uint32_t name)
{
	size_t at = ((uint64_t)module << 32 | name) * 0x9e3779b97f4a7c15ULL >> 20;

	for (at &= f->n_slots - 1; f->slots[at]; at = (at + 1) & (f->n_slots - 1))
		if (f->list[f->slots[at] - 1].module == module && f->list[f->slots[at] - 1].name == name)
			break;
	return &f->slots[at];
}

/* The number of each node's function. */
static void number_functions(const struct cct *t, struct functions *f, uint32_t *of)
{
	for (size_t i = 1; i < t->n; i++) {
		const struct cct_key *key = &t->nodes[i].key;
		uint32_t *slot = find_slot(f, key->module, key->name);

		if (!*slot) {
			f->list[f->n] = (struct function){.module = key->module, .name = key->name};
			*slot = ++f->n;
		}
		of[i] = *slot - 1;
		f->list[of[i]].self += t->nodes[i].self;
		f->list[of[i]].samples += t->nodes[i].samples;
	}
}

/* Walks the tree, down and up again, and adds a node's total where its function is not on the path yet. */
static void sum_totals(const struct cct *t, struct functions *f, const uint32_t *of)
{
	uint32_t node = t->nodes[0].child;

	while (node) {
		const struct cct_node *n = &t->nodes[node];

		if (!f->list[of[node]].active++)
			f->list[of[node]].total += n->total;
		if (n->child) {
			node = n->child;
			continue;
		}
		for (;;) {
			f->list[of[node]].active--;
			if (t->nodes[node].next) {
				node = t->nodes[node].next;
				break;
			}
			node = t->nodes[node].parent;
			if (!node)
				return;
		}
	}
}

int format_flat(const struct profile *p, const struct format_options *o, FILE *out)
{
	const struct cct *t = &p->tree;
	struct functions f = {.n_slots = 64};
	uint64_t all = t->nodes[0].total;
	char buffer[1024];
	uint32_t *of = malloc(t->n * sizeof(*of));
	int r = -ENOMEM;

	while (f.n_slots < t->n * 2)
		f.n_slots *= 2;
	f.slots = calloc(f.n_slots, sizeof(*f.slots));
	f.list = malloc(t->n * sizeof(*f.list));
	if (!of || !f.slots || !f.list)
		goto out;
	r = 0;
	number_functions(t, &f, of);
	sum_totals(t, &f, of);
	qsort(f.list, f.n, sizeof(*f.list), by_self);
	fprintf(out, "   self    total   samples  function\n");
	for (size_t i = 0; i < f.n; i++) {
		const struct function *fn = &f.list[i];
		const char *base = names_base(p->names, fn->module);

		if (format_percent(fn->total, all) < o->min_percent)
			continue;
		fprintf(out, "%6.2f%%  %6.2f%%  %8llu  %s", format_percent(fn->self, all),
			format_percent(fn->total, all), (unsigned long long)fn->samples,
			format_clean(names_string(p->names, fn->name), buffer, sizeof(buffer)));
		if (*base)
			fprintf(out, "  (%s)", format_clean(base, buffer, sizeof(buffer)));
		fputc('\n', out);
	}
out:
	free(of);
	free(f.slots);
	free(f.list);
	return r;
}
