/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Estimates the execution counts of all sites by propagation over the call graph.
 *
 * The compiler estimates how often a call is executed per entry of its function. The numbering
 * compares calls of different functions, so entries are propagated. Each root is entered once. Each
 * site enters its callee as often as its caller is entered, times its own estimate. In cycles this
 * has no end, so a few sweeps are made in reverse postorder. Edges against that order count half at
 * most. Only the order of the weights matters. It is the same on every machine, since sums have a
 * fixed order and use exact operations only.
 *
 * If a profile says how often a function was entered, this number replaces the estimate. No
 * propagation can know the effect of calls through pointers. The estimate orders functions that the
 * profile has never entered.
 *
 * If samples exist, they decide, or calls if these were counted. The number of samples in a
 * function, by calling site, compares the sites that call this function. The numbering mostly asks
 * for this. It compares sites with different callees less exactly, since callees take different
 * times.
 *
 * A site without samples was not called often, but which of them is the colder one? A function that
 * has samples is hot, so what it calls is rather called than what others call. So the samples are
 * propagated like entries, together with numbers of entries that are known. The sites into one
 * function get less than one sample in sum by this (UNSAMPLED_MOST): more would outweigh samples.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "numbering/steps.h"

#define SWEEPS 3
#define ENTRIES_MAX 1e15
/* In samples: the weight of the entries of a root, and of all sites into a function at most. */
#define UNSAMPLED 1e-2
#define UNSAMPLED_MOST (1.0 / 32)

/* Has one element a function in each array. */
struct order {
	uint32_t *position, *function; /* in a reverse postorder, and the inverse */
	double *entries, *incoming; /* incoming: by edges against the order, from the last sweep */
};

struct dfs {
	uint32_t func, next;
};

/*
 * Makes a depth-first search from all roots, then from all other functions. position[f] is the
 * place of f in its reverse postorder.
 */
static int reverse_postorder(const struct numbering_work *w, struct order *o)
{
	const struct numbering_graph *g = w->graph;
	struct dfs *stack = malloc(((size_t)g->n_funcs + 1) * sizeof(*stack));
	uint8_t *seen = calloc((size_t)g->n_funcs + 1, 1);
	uint32_t left = g->n_funcs;

	if (!stack || !seen) {
		free(stack);
		free(seen);
		return -ENOMEM;
	}
	for (int roots = 1; roots >= 0; roots--) {
		for (uint32_t start = g->n_funcs; start-- > 0;) {
			size_t depth = 0;

			if (seen[start] || (roots && !g->root[start]))
				continue;
			seen[start] = 1;
			stack[depth++] = (struct dfs){start, w->out_sites.first[start]};
			while (depth) {
				struct dfs *top = &stack[depth - 1];

				if (top->next == w->out_sites.first[top->func + 1]) {
					o->position[top->func] = --left;
					o->function[left] = top->func;
					depth--;
					continue;
				}
				uint32_t callee = g->sites[w->out_sites.item[top->next++]].callee;

				if (callee == NUMBERING_NO_CALLEE || seen[callee])
					continue;
				seen[callee] = 1;
				stack[depth++] = (struct dfs){callee, w->out_sites.first[callee]};
			}
		}
	}
	free(stack);
	free(seen);
	return 0;
}

/* Spreads entries once over the graph, and sets the weight of each site. */
static void spread_estimates(struct numbering_work *w, struct order *o)
{
	const struct numbering_graph *g = w->graph;

	for (uint32_t f = 0; f < g->n_funcs; f++)
		o->entries[f] = o->incoming[f] + (g->root[f] ? 1.0 : 0.0);
	memset(o->incoming, 0, g->n_funcs * sizeof(*o->incoming));
	for (uint32_t at = 0; at < g->n_funcs; at++) {
		uint32_t f = o->function[at];

		if (g->entry_count && g->entry_count[f])
			o->entries[f] = (double)(g->entry_count[f] - 1) +
					fmin(o->entries[f], UNSAMPLED_MOST);
		if (o->entries[f] > ENTRIES_MAX)
			o->entries[f] = ENTRIES_MAX;
		for (uint32_t i = w->out_sites.first[f]; i < w->out_sites.first[f + 1]; i++) {
			uint32_t site = w->out_sites.item[i], callee = g->sites[site].callee;
			double local = g->sites[site].freq * (1.0 / 1024);

			w->weight[site] = o->entries[f] * local;
			if (callee == NUMBERING_NO_CALLEE)
				continue;
			if (o->position[callee] > at)
				o->entries[callee] += w->weight[site];
			else
				o->incoming[callee] +=
					o->entries[f] * (local < 1.0 ? local : 1.0) * 0.5;
		}
	}
}

/*
 * A profile of the compiler is not consistent: optimisation loses counts of blocks. If a function
 * was entered more often than the sites that call it say, the rest is shared out among them, by the
 * entries of their callers.
 */
static int add_missing(struct numbering_work *w, struct order *o)
{
	const struct numbering_graph *g = w->graph;
	double *missing = o->incoming, *callers = calloc((size_t)g->n_funcs + 1, sizeof(*callers));

	if (!callers)
		return -ENOMEM;
	for (uint32_t f = 0; f < g->n_funcs; f++)
		missing[f] = g->entry_count[f] ? (double)(g->entry_count[f] - 1) : 0;
	for (uint32_t i = 0; i < g->n_sites; i++) {
		if (g->sites[i].callee == NUMBERING_NO_CALLEE)
			continue;
		missing[g->sites[i].callee] -= w->weight[i];
		callers[g->sites[i].callee] += o->entries[g->sites[i].caller];
	}
	for (uint32_t i = 0; i < g->n_sites; i++) {
		uint32_t f = g->sites[i].callee;

		if (f != NUMBERING_NO_CALLEE && missing[f] > 0 && callers[f] > 0)
			w->weight[i] += missing[f] * (o->entries[g->sites[i].caller] / callers[f]);
	}
	free(callers);
	return 0;
}

/* The most entries of a function that are known, at least 1. */
static double most_entries(const struct numbering_graph *g)
{
	uint64_t most = 2;

	for (uint32_t f = 0; g->entry_count && f < g->n_funcs; f++)
		most = g->entry_count[f] > most ? g->entry_count[f] : most;
	return (double)(most - 1);
}

/* Spreads the samples of functions once over the graph, and sets each site's weight by those of its
 * caller. The samples of the site itself are added later. */
static void spread_samples(struct numbering_work *w, struct order *o, const double *sampled,
			   double most)
{
	const struct numbering_graph *g = w->graph;

	for (uint32_t f = 0; f < g->n_funcs; f++)
		o->entries[f] = o->incoming[f] + (g->root[f] ? UNSAMPLED : 0.0);
	memset(o->incoming, 0, g->n_funcs * sizeof(*o->incoming));
	for (uint32_t at = 0; at < g->n_funcs; at++) {
		uint32_t f = o->function[at];
		double entries;

		if (g->entry_count && g->entry_count[f])
			o->entries[f] = (double)(g->entry_count[f] - 1) / most * UNSAMPLED_MOST;
		entries = sampled[f] + fmin(o->entries[f], UNSAMPLED_MOST);

		for (uint32_t i = w->out_sites.first[f]; i < w->out_sites.first[f + 1]; i++) {
			uint32_t site = w->out_sites.item[i], callee = g->sites[site].callee;

			w->weight[site] = entries * (g->sites[site].freq * (1.0 / 1024));
			if (callee == NUMBERING_NO_CALLEE)
				continue;
			if (o->position[callee] > at)
				o->entries[callee] += w->weight[site];
			else
				o->incoming[callee] += w->weight[site];
		}
	}
}

static int weigh_by_samples(struct numbering_work *w, struct order *o)
{
	const struct numbering_graph *g = w->graph;
	double *sampled = calloc((size_t)g->n_funcs + 1, sizeof(*sampled)), *all = o->incoming;

	if (!sampled)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_sites; i++)
		if (g->sites[i].callee != NUMBERING_NO_CALLEE)
			sampled[g->sites[i].callee] += (double)g->samples[i];
	for (int sweep = 0; sweep < SWEEPS; sweep++)
		spread_samples(w, o, sampled, most_entries(g));
	memset(all, 0, g->n_funcs * sizeof(*all));
	for (uint32_t i = 0; i < g->n_sites; i++)
		if (g->sites[i].callee != NUMBERING_NO_CALLEE)
			all[g->sites[i].callee] += w->weight[i];
	for (uint32_t i = 0; i < g->n_sites; i++) {
		uint32_t callee = g->sites[i].callee;

		if (callee != NUMBERING_NO_CALLEE && all[callee] > UNSAMPLED_MOST)
			w->weight[i] *= UNSAMPLED_MOST / all[callee];
		w->weight[i] += (double)g->samples[i];
	}
	free(sampled);
	return 0;
}

int numbering_weigh(struct numbering_work *w)
{
	size_t n = (size_t)w->graph->n_funcs + 1;
	struct order o = {calloc(n, sizeof(*o.position)), calloc(n, sizeof(*o.function)),
			  calloc(n, sizeof(*o.entries)), calloc(n, sizeof(*o.incoming))};
	int err = -ENOMEM;

	if (o.position && o.function && o.entries && o.incoming)
		err = reverse_postorder(w, &o);
	if (!err && w->graph->samples)
		err = weigh_by_samples(w, &o);
	for (int sweep = 0; !err && !w->graph->samples && sweep < SWEEPS; sweep++)
		spread_estimates(w, &o);
	if (!err && !w->graph->samples && w->graph->entry_count)
		err = add_missing(w, &o);
	free(o.position);
	free(o.function);
	free(o.entries);
	free(o.incoming);
	return err;
}
