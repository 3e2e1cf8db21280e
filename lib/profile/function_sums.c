/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sums up in one walk through the tree. On the way down, a function or call counts if it is not on
 * the path already. A repeated group calls itself: its last frame calls its first one, at the line
 * from which the first one is called.
 */
#include <errno.h>
#include <stdlib.h>
#include "profile/function_sums.h"
#include "base/array.h"
#include "base/id_map.h"

struct walk {
	const struct profile *p;
	struct function_sums *s;
	struct id_map calls, lines;
	uint32_t *on_path;	 /* by function: how often it is on the path */
	uint32_t *call_on_path;	 /* the same by call */
	uint64_t *total_samples; /* by node */
	bool by_line;
};

/* Returns the number of a call; UINT32_MAX: no memory. */
static uint32_t number_call(struct walk *w, uint32_t caller, uint32_t callee,
			    const struct cct_key *key)
{
	struct function_call_sum call = {
		.caller = caller,
		.callee = callee,
		.file = w->by_line ? key->file : 0,
		.line = w->by_line ? key->line : 0,
		.inlined = key->flags & CCT_INLINED,
	};
	uint64_t words[ID_MAP_WORDS] = {(uint64_t)caller << 32 | callee,
					(uint64_t)call.file << 32 | call.line, call.inlined};
	struct id_map_entry *e = id_map_find(&w->calls, words);

	if (!e || e->number)
		return e ? e->number - 1 : UINT32_MAX;
	if (array_grow(&w->s->calls, w->s->n_calls, sizeof(call)) ||
	    array_grow(&w->call_on_path, w->s->n_calls, sizeof(*w->call_on_path)))
		return UINT32_MAX;
	w->s->calls[w->s->n_calls] = call;
	w->call_on_path[w->s->n_calls] = 0;
	id_map_fill(&w->calls, e, words, w->s->n_calls);
	return w->s->n_calls++;
}

/* Enters a call, or leaves it, at a node: by is 1 or -1. */
static int pass_call(struct walk *w, uint32_t node, uint32_t caller, uint32_t callee,
		     const struct cct_key *key, int by)
{
	uint32_t call = number_call(w, caller, callee, key);

	if (call == UINT32_MAX)
		return -ENOMEM;
	if (by > 0 && !w->call_on_path[call]) {
		w->s->calls[call].weight += w->p->tree.nodes[node].total;
		w->s->calls[call].samples += w->total_samples[node];
	}
	w->call_on_path[call] += by;
	return 0;
}

/* Passes the calls of a node: by its parent and, if a repeated group begins with the node, by the
 * last node of this group. */
static int pass_calls(struct walk *w, uint32_t node, int by)
{
	const struct cct_node *n = &w->p->tree.nodes[node];
	const uint32_t *of = w->s->functions.of_node;
	uint32_t last = node;

	if (n->parent && pass_call(w, node, of[n->parent], of[node], n->key, by))
		return -ENOMEM;
	if (!n->key->repeat)
		return 0;
	/* The frames of a group have one child each, within it. */
	for (uint32_t i = 1; i < n->key->span && w->p->tree.nodes[last].child; i++)
		last = w->p->tree.nodes[last].child;
	return pass_call(w, node, of[last], of[node], n->key, by);
}

static int pass_node(struct walk *w, uint32_t node, int by)
{
	uint32_t function = w->s->functions.of_node[node];

	if (by > 0 && !w->on_path[function])
		w->s->of[function].total += w->p->tree.nodes[node].total;
	if (by > 0)
		w->s->of[function].self += w->p->tree.nodes[node].self;
	w->on_path[function] += by;
	return pass_calls(w, node, by);
}

static int walk_tree(struct walk *w)
{
	const struct cct_node *nodes = w->p->tree.nodes;
	uint32_t node = nodes[0].child;
	int r = 0;

	while (node && !r) {
		r = pass_node(w, node, 1);
		if (!r && nodes[node].child) {
			node = nodes[node].child;
			continue;
		}
		while (node && !r) {
			r = pass_node(w, node, -1);
			if (nodes[node].next) {
				node = nodes[node].next;
				break;
			}
			node = nodes[node].parent;
		}
	}
	return r;
}

/* ---- lines ----------------------------------------------------------------------- */

static int add_line_weight(struct walk *w, uint32_t function, uint32_t file, uint32_t line,
			   uint64_t weight)
{
	uint64_t words[ID_MAP_WORDS] = {(uint64_t)function << 32 | file, line};
	struct id_map_entry *e = id_map_find(&w->lines, words);

	if (!e)
		return -ENOMEM;
	if (!e->number) {
		if (array_grow(&w->s->lines, w->s->n_lines, sizeof(*w->s->lines)))
			return -ENOMEM;
		w->s->lines[w->s->n_lines] = (struct function_line_sum){
			.function = function, .file = file, .line = line};
		id_map_fill(&w->lines, e, words, w->s->n_lines++);
		e = id_map_find(&w->lines, words);
		if (!e)
			return -ENOMEM;
	}
	w->s->lines[e->number - 1].weight += weight;
	return 0;
}

static int add_cell_line(void *ctx, const struct profile_cell *cell)
{
	struct walk *w = ctx;
	uint32_t function = w->s->functions.of_node[cell->node], file = 0, line = 0;
	const struct function *f = &w->s->functions.list[function];
	const struct symbol_table_entry *chain;
	size_t n;

	if (!cell->node)
		return 0;
	file = f->file;
	n = cell->place.vaddr && !f->flags && f->kind <= DECODE_FRAME_FOREIGN
		    ? symbol_table_at(w->p->names, cell->place.module, cell->place.vaddr, &chain)
		    : 0;
	/* Finds this function's level of the chain: the innermost or, without inlining, the
	 * outermost. */
	for (size_t i = 0; i < n; i++)
		if (chain[i].function == f->name) {
			file = chain[i].file;
			line = chain[i].line;
			break;
		}
	return add_line_weight(w, function, file, line, cell->weight);
}

static int add_lines(struct walk *w)
{
	const struct function_sums *s = w->s;
	int r = 0;

	if (profile_samples(w->p))
		return profile_cells(w->p, add_cell_line, w);
	for (size_t i = 0; i < s->functions.n && !r; i++)
		if (s->of[i].self)
			r = add_line_weight(w, i, s->functions.list[i].file, 0, s->of[i].self);
	return r;
}

/* ---- sums ---------------------------------------------------------------- */

COMPARE_BY3(by_function, struct function_line_sum, function, file, line);

static int by_caller(const void *a, const void *b)
{
	const struct function_call_sum *x = a, *y = b;

	if (x->caller != y->caller)
		return x->caller < y->caller ? -1 : 1;
	if (x->callee != y->callee)
		return x->callee < y->callee ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->inlined - y->inlined;
}

static int sum_tree(struct walk *w)
{
	const struct cct *t = &w->p->tree;
	struct function_sums *s = w->s;

	s->of = calloc(s->functions.n + 1, sizeof(*s->of));
	w->on_path = calloc(s->functions.n + 1, sizeof(*w->on_path));
	w->total_samples = malloc(t->n * sizeof(*w->total_samples));
	if (!s->of || !w->on_path || !w->total_samples)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		w->total_samples[i] = t->nodes[i].samples;
	for (size_t i = t->n - 1; i > 0; i--)
		w->total_samples[t->nodes[i].parent] += w->total_samples[i];
	s->total = t->nodes[0].total;
	if (walk_tree(w) || add_lines(w))
		return -ENOMEM;
	if (s->n_lines)
		qsort(s->lines, s->n_lines, sizeof(*s->lines), by_function);
	if (s->n_calls)
		qsort(s->calls, s->n_calls, sizeof(*s->calls), by_caller);
	return 0;
}

int function_sums_new(const struct profile *p, bool by_line, struct function_sums *s)
{
	struct walk w = {.p = p, .s = s, .by_line = by_line};
	int r;

	*s = (struct function_sums){0};
	r = functions_new(p, &p->tree, &s->functions);
	if (!r)
		r = sum_tree(&w);
	id_map_free(&w.calls);
	id_map_free(&w.lines);
	free(w.on_path);
	free(w.call_on_path);
	free(w.total_samples);
	if (r)
		function_sums_free(s);
	return r;
}

void function_sums_free(struct function_sums *s)
{
	functions_free(&s->functions);
	free(s->of);
	free(s->lines);
	free(s->calls);
	*s = (struct function_sums){0};
}
