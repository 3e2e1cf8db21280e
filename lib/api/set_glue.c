/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the glue of a set of contexts. It follows the decoder (explain_push in decode/decode.c and
 * decode_locate_called_as_leaf in decode/locate.c). Where several chains of tail calls are
 * possible, or tail calls leave a module, the glue is unknown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sites.h>
#include "api/set_glue.h"
#include "base/array.h"

static int compare_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

COMPARE_BY2(compare_glue, struct pcce_set_glue, callee, root);

static int add_glue(struct set_glue *g, uint32_t callee, uint32_t root, uint64_t step)
{
	if (array_grow(&g->all, g->n, sizeof(*g->all)))
		return -ENOMEM;
	g->all[g->n++] = (struct pcce_set_glue){.callee = callee, .root = root, .step = step};
	return 0;
}

/* 0: no special function has this name. */
static uint32_t number_of_name(const struct set_glue *g, const char *name)
{
	const char **found =
		g->n_names ? bsearch(&name, g->names, g->n_names, sizeof(*g->names), compare_name)
			   : NULL;

	return found ? (uint32_t)(found - g->names) + 1 : 0;
}

static int add_name(struct set_glue *g, const char *name)
{
	if (array_grow(&g->names, g->n_names, sizeof(*g->names)))
		return -ENOMEM;
	g->names[g->n_names++] = name;
	return 0;
}

/* Functions from which tail calls lead to this one. */
static bool *find_tail_callers(const struct encoding_table *t, uint32_t to)
{
	bool *from = calloc(t->head->funcs.count + 1, sizeof(*from)), more = true;

	while (from && more) {
		more = false;
		for (uint64_t i = 0; i < t->head->tails.count; i++)
			if (!from[t->tails[i].from] &&
			    (t->tails[i].to == to || from[t->tails[i].to]))
				more = from[t->tails[i].from] = true;
	}
	return from;
}

static int add_function(struct set_glue *g, const struct expression *e, const struct set_module *m,
			uint32_t func, bool names)
{
	uint32_t root = m->first_func + func + 1, number;
	bool *from = find_tail_callers(&m->table, func);
	int r = from ? 0 : -ENOMEM;

	if (!r && names)
		r = add_name(g, set_module_symbol(m, func));
	number = names ? 0 : number_of_name(g, set_module_symbol(m, func));
	if (!r && !names)
		r = add_glue(g, root, root, PCCE_SET_IDENTITY);
	if (!r && !names)
		r = add_glue(g, PCCE_SET_NAMED | number, root, PCCE_SET_IDENTITY);
	if (!r && !names)
		r = add_glue(g, PCCE_SET_NAMED | PCCE_SET_EXT | number, root, PCCE_SET_IDENTITY);
	for (uint32_t i = 0; i < m->table.head->funcs.count && !r; i++) {
		const char *symbol = set_module_symbol(m, i);

		if (!from[i] || i == func)
			continue;
		if (names) {
			r = add_name(g, symbol);
			continue;
		}
		if (!(m->table.funcs[i].flags & PCCE_FUNC_TAIL_OUT))
			r = add_glue(g, m->first_func + i + 1, root, set_tail_step(e, m, i, func));
		if (!r && strcmp(symbol, set_module_symbol(m, func)) != 0)
			r = add_glue(g, PCCE_SET_NAMED | number_of_name(g, symbol), root,
				     PCCE_SET_UNKNOWN);
	}
	free(from);
	return r;
}

static int add_functions(struct set_glue *g, const struct expression *e,
			 const struct set_modules *m, bool names)
{
	int r = 0;

	for (size_t i = 0; i < m->n; i++)
		for (uint32_t k = 0; k < m->all[i].table.head->funcs.count && !r; k++)
			if (m->all[i].special[k])
				r = add_function(g, e, &m->all[i], k, names);
	return r;
}

static int find_leaver_names(struct set_glue *g, const struct set_modules *m)
{
	for (size_t i = 0; i < m->n; i++) {
		const struct encoding_table *t = &m->all[i].table;

		for (uint32_t k = 0; k < t->n_leavers; k++) {
			if (array_grow(&g->leavers, g->n_leavers, sizeof(*g->leavers)))
				return -ENOMEM;
			g->leavers[g->n_leavers++] = set_module_symbol(&m->all[i], t->leavers[k]);
		}
	}
	if (g->n_leavers)
		qsort(g->leavers, g->n_leavers, sizeof(*g->leavers), compare_name);
	return 0;
}

int set_glue_make(struct set_glue *g, const struct expression *e, const struct set_modules *m)
{
	size_t n = 0;
	int r = find_leaver_names(g, m);

	r = r ? r : add_functions(g, e, m, true);

	if (r)
		return r;
	if (g->n_names)
		qsort(g->names, g->n_names, sizeof(*g->names), compare_name);
	for (size_t i = 0; i < g->n_names; i++)
		if (!n || strcmp(g->names[i], g->names[n - 1]) != 0)
			g->names[n++] = g->names[i];
	g->n_names = n;
	r = add_functions(g, e, m, false);
	if (g->n)
		qsort(g->all, g->n, sizeof(*g->all), compare_glue);
	return r;
}

void set_glue_free(struct set_glue *g)
{
	free(g->all);
	free(g->names);
	free(g->leavers);
}

static uint32_t named_callee(const struct set_glue *g, const char *name)
{
	bool leaves = g->n_leavers &&
		      bsearch(&name, g->leavers, g->n_leavers, sizeof(*g->leavers), compare_name);

	return PCCE_SET_NAMED | number_of_name(g, name) | (leaves ? PCCE_SET_LEAVES : 0);
}

uint32_t set_glue_callee(const struct set_glue *g, const struct set_module *m,
			 const struct pcce_table_site *s)
{
	const char *name = encoding_table_string(&m->table, s->callee_name);

	if (s->kind == PCCE_KIND_EXT)
		return PCCE_SET_NAMED | PCCE_SET_EXT | number_of_name(g, name);
	if (s->callee != PCCE_NONE)
		return (m->first_func + s->callee + 1) |
		       (m->table.funcs[s->callee].flags & PCCE_FUNC_TAIL_OUT ? PCCE_SET_LEAVES : 0);
	return s->flags & PCCE_SITE_INDIRECT ? PCCE_SET_ANY : named_callee(g, name);
}
