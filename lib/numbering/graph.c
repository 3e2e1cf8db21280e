/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Builds adjacency lists and spreads flags along them: see graph.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "numbering/graph.h"

int numbering_adjacency_build(struct numbering_adjacency *a, uint32_t n_nodes, uint32_t n_edges,
			      bool (*edge)(const void *ctx, uint32_t i, uint32_t *from,
					   uint32_t *item),
			      const void *ctx)
{
	uint32_t from, item;

	a->first = calloc((size_t)n_nodes + 2, sizeof(*a->first));
	if (!a->first)
		return -ENOMEM;
	/* Counting sort. During the filling, first[v + 1] is the next free place of v. */
	for (uint32_t i = 0; i < n_edges; i++)
		if (edge(ctx, i, &from, &item))
			a->first[from + 2]++;
	for (uint32_t v = 0; v < n_nodes; v++)
		a->first[v + 2] += a->first[v + 1];
	a->item = malloc(((size_t)a->first[n_nodes + 1] + 1) * sizeof(*a->item));
	if (!a->item)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_edges; i++)
		if (edge(ctx, i, &from, &item))
			a->item[a->first[from + 1]++] = item;
	return 0;
}

void numbering_adjacency_free(struct numbering_adjacency *a)
{
	free(a->first);
	free(a->item);
	a->first = a->item = NULL;
}

bool numbering_edge_out_site(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item)
{
	const struct numbering_graph *g = ctx;

	*from = g->sites[i].caller;
	*item = i;
	return true;
}

bool numbering_edge_tail(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item)
{
	const struct numbering_graph *g = ctx;

	*from = g->sites[i].caller;
	*item = g->sites[i].callee;
	return (g->sites[i].flags & NUMBERING_TAIL) && g->sites[i].callee != NUMBERING_NO_CALLEE;
}

bool numbering_edge_tail_reverse(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item)
{
	return numbering_edge_tail(ctx, i, item, from);
}

/* See graph.h. */
bool numbering_edge_tail_keeping(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item)
{
	const struct numbering_work *w = ctx;

	return numbering_edge_tail(w->graph, i, from, item) &&
	       !(w->out->tail_out[*from] && numbering_can_enter(w, *item));
}

/* See graph.h. */
int numbering_spread(uint8_t *flag, uint32_t n, const struct numbering_adjacency *a)
{
	uint32_t *queue = malloc(((size_t)n + 1) * sizeof(*queue));
	size_t head = 0, tail = 0;

	if (!queue)
		return -ENOMEM;
	for (uint32_t f = 0; f < n; f++)
		if (flag[f])
			queue[tail++] = f;
	while (head < tail) {
		uint32_t f = queue[head++];

		for (uint32_t i = a->first[f]; i < a->first[f + 1]; i++) {
			uint32_t to = a->item[i];

			if (!flag[to]) {
				flag[to] = 1;
				queue[tail++] = to;
			}
		}
	}
	free(queue);
	return 0;
}

void numbering_find_hottest(const struct numbering_work *w, double *hottest)
{
	const struct numbering_graph *g = w->graph;

	memset(hottest, 0, g->n_funcs * sizeof(*hottest));
	for (uint32_t i = 0; i < g->n_sites; i++)
		if (numbering_site_has_value(w, i) && w->weight[i] > hottest[g->sites[i].callee])
			hottest[g->sites[i].callee] = w->weight[i];
}

double numbering_sum_weights(const struct numbering_work *w)
{
	double weight = 0;

	for (uint32_t i = 0; i < w->graph->n_sites; i++)
		if (w->graph->sites[i].callee != NUMBERING_NO_CALLEE)
			weight += w->weight[i];
	return weight;
}

int numbering_close_roots(struct numbering_work *w)
{
	int err = numbering_spread(w->out->root, w->graph->n_funcs, &w->root_tails);

	for (uint32_t f = 0; f < w->graph->n_funcs; f++)
		if (w->out->root[f])
			numbering_make_root(w, f);
	return err;
}

void numbering_make_root(const struct numbering_work *w, uint32_t func)
{
	w->out->root[func] = 1;
	w->out->entered[func] = 0;
	w->out->start[func] = 0;
}

void numbering_begin_in(const struct numbering_work *w, uint32_t func)
{
	if (!w->out->root[func] && numbering_can_enter(w, func))
		w->out->entered[func] = 1;
	else
		w->out->root[func] = 1;
}

void numbering_cut_site(const struct numbering_work *w, uint32_t site, bool root)
{
	uint32_t callee = w->graph->sites[site].callee;

	w->out->kind[site] = NUMBERED_PUSH;
	w->out->cut[site] = 1;
	w->out->n_cut++;
	if (root)
		numbering_make_root(w, callee);
	else
		numbering_begin_in(w, callee);
}

void numbering_free(struct numbering *n)
{
	free(n->kind);
	free(n->cut);
	free(n->value);
	free(n->num_cc);
	free(n->root);
	free(n->entered);
	free(n->start);
	free(n->tail_out);
	free(n->edges);
	free(n->first_edge);
	memset(n, 0, sizeof(*n));
}
