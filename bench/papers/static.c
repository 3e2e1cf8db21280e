/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts the call graph as the paper does: a node is a function, an edge is a call site.
 *
 * Nothing is cut here, so the numbers of contexts may have any size.  They are therefore floating
 * point.
 *
 *   contexts(f) = (1 if f can be entered by other ways than edges)
 *                 + the sum of contexts(caller) over the in-edges that close no cycle
 *
 * With the paper's numbering, contexts of different functions may have equal ids, because a sample
 * also has the function.  The largest id is the largest contexts(f), minus 1.  The numbering of
 * Ball and Larus gives each path through the graph a different number.  Its largest id is the sum
 * of contexts(f) over all f, minus 1.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bench/papers/lines.h"
#include "bench/papers/static.h"

enum colour { WHITE, OPEN, DONE };

struct search {
	const struct numbering_graph *g;
	uint32_t *first, *out; /* sites by caller */
	uint8_t *colour, *back;
	uint32_t *order; /* functions in the order in which the search left them */
	uint32_t n_order;
	uint32_t *stack, *at;
};

static bool is_edge(const struct numbering_site *s)
{
	return s->callee != NUMBERING_NO_CALLEE && !(s->flags & NUMBERING_PUSH);
}

/* Searches in depth from root and marks the edges that close a cycle. */
static void search_from(struct search *s, uint32_t root)
{
	uint32_t depth = 0;

	s->stack[depth++] = root;
	s->at[root] = s->first[root];
	s->colour[root] = OPEN;
	while (depth) {
		uint32_t f = s->stack[depth - 1], site, callee;

		if (s->at[f] == s->first[f + 1]) {
			s->colour[f] = DONE;
			s->order[s->n_order++] = f;
			depth--;
			continue;
		}
		site = s->out[s->at[f]++];
		callee = s->g->sites[site].callee;
		if (!is_edge(&s->g->sites[site]))
			continue;
		if (s->colour[callee] == OPEN) {
			s->back[site] = 1;
		} else if (s->colour[callee] == WHITE) {
			s->colour[callee] = OPEN;
			s->at[callee] = s->first[callee];
			s->stack[depth++] = callee;
		}
	}
}

static void sort_sites(struct search *s)
{
	for (uint32_t i = 0; i < s->g->n_sites; i++)
		s->first[s->g->sites[i].caller + 2]++;
	for (uint32_t f = 0; f < s->g->n_funcs; f++)
		s->first[f + 2] += s->first[f + 1];
	for (uint32_t i = 0; i < s->g->n_sites; i++)
		s->out[s->first[s->g->sites[i].caller + 1]++] = i;
}

static void sum_contexts(const struct search *s, long double *contexts, struct static_counts *out)
{
	long double all = 0, most = 0;

	for (uint32_t f = 0; f < s->g->n_funcs; f++)
		contexts[f] += s->g->root[f];
	/* Callers before callees. */
	for (uint32_t i = s->n_order; i-- > 0;) {
		uint32_t f = s->order[i];

		if (contexts[f] == 0)
			contexts[f] = 1; /* nothing calls it, but it counts */
		all += contexts[f];
		if (contexts[f] > most)
			most = contexts[f];
		for (uint32_t k = s->first[f]; k < s->first[f + 1]; k++)
			if (is_edge(&s->g->sites[s->out[k]]) && !s->back[s->out[k]])
				contexts[s->g->sites[s->out[k]].callee] += contexts[f];
	}
	out->largest_context = most - 1;
	out->largest_path = all - 1;
}

int static_count(const struct program *p, const char *path, const char *root,
		 struct static_counts *out, struct error *why)
{
	const struct numbering_graph *g = &p->graph.graph;
	size_t n = g->n_funcs, m = g->n_sites;
	struct search s = {.g = g,
			   .first = calloc(n + 3, sizeof(uint32_t)),
			   .out = calloc(m + 1, sizeof(uint32_t)),
			   .colour = calloc(n + 1, 1),
			   .back = calloc(m + 1, 1),
			   .order = calloc(n + 1, sizeof(uint32_t)),
			   .stack = calloc(n + 1, sizeof(uint32_t)),
			   .at = calloc(n + 1, sizeof(uint32_t))};
	long double *contexts = calloc(n + 1, sizeof(*contexts));
	int err = -ENOMEM;

	memset(out, 0, sizeof(*out));
	if (s.first && s.out && s.colour && s.back && s.order && s.stack && s.at && contexts) {
		sort_sites(&s);
		for (uint32_t f = 0; f < n; f++)
			if (g->root[f] && s.colour[f] == WHITE)
				search_from(&s, f);
		for (uint32_t f = 0; f < n; f++)
			if (s.colour[f] == WHITE)
				search_from(&s, f);
		sum_contexts(&s, contexts, out);
		out->nodes = n;
		for (size_t i = 0; i < m; i++) {
			out->edges += g->sites[i].callee != NUMBERING_NO_CALLEE;
			out->recursive += s.back[i] || (g->sites[i].flags & NUMBERING_PUSH &&
							g->sites[i].callee == g->sites[i].caller);
		}
		for (uint32_t i = 0; i < p->graph.n_sites; i++) {
			out->indirect += p->graph.sites[i].target == CALLGRAPH_UNKNOWN;
			out->outside += p->graph.sites[i].target == CALLGRAPH_OUTSIDE;
		}
		err = lines_count(path, root, &out->lines, &out->files, why);
	} else {
		error_memory(why);
	}
	free(s.first);
	free(s.out);
	free(s.colour);
	free(s.back);
	free(s.order);
	free(s.stack);
	free(s.at);
	free(contexts);
	return err;
}
