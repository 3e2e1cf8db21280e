/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Estimates the execution counts of all sites by propagation over the call graph.
 *
 * The compiler estimates how often a call is executed per entry of its function. The numbering
 * compares calls of different functions, so entries are propagated. Each root is entered once. Each
 * site enters its callee as often as its caller is entered, times its own estimate. In cycles this
 * has no end, so a few sweeps are made in reverse postorder. Edges against that order count half at
 * most. Only the order of the weights matters. It is the same on every machine, since sums have a
 * fixed order and use only + and *.
 *
 * If a profile says how often a function was entered, this number replaces the estimate. No
 * propagation can know the effect of calls through pointers.
 *
 * If samples exist, they decide. The number of samples in a function, by calling site, compares the
 * sites that call this function. The numbering mostly asks for this. It compares sites with
 * different callees less exactly, since callees take different times. The estimate has the weight
 * of one sample for each function, so it decides where no samples are.
 */
#include <errno.h>
#include <stdlib.h>
#include "encode/numbering_steps.h"

#define SWEEPS 3
#define ENTRIES_MAX 1e15
#define UNSAMPLED 1e-2 /* weight, in samples, of a function without samples */

struct dfs {
	uint32_t func, next;
};

/*
 * Makes a depth-first search from all roots, then from all other functions. position[f] is the
 * place of f in its reverse postorder, and order is the inverse.
 */
static int reverse_postorder(const struct numbering_work *w, uint32_t *position, uint32_t *order)
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
					position[top->func] = --left;
					order[left] = top->func;
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

/* estimated and sampled have one element for each function. */
static void weigh_by_samples(struct numbering_work *w, double *estimated, double *sampled)
{
	const struct numbering_graph *g = w->graph;

	for (uint32_t f = 0; f < g->n_funcs; f++)
		estimated[f] = sampled[f] = 0;
	for (uint32_t i = 0; i < g->n_sites; i++) {
		uint32_t callee = g->sites[i].callee;

		if (callee == NUMBERING_NO_CALLEE)
			continue;
		estimated[callee] += w->weight[i];
		sampled[callee] += (double)g->samples[i];
	}
	for (uint32_t i = 0; i < g->n_sites; i++) {
		uint32_t callee = g->sites[i].callee;
		double share;

		if (callee == NUMBERING_NO_CALLEE)
			continue;
		share = estimated[callee] > 0 ? w->weight[i] / estimated[callee] : 0;
		share = ((double)g->samples[i] + share) / (sampled[callee] + 1);
		w->weight[i] = share * (sampled[callee] + UNSAMPLED);
	}
}

int numbering_weigh(struct numbering_work *w)
{
	const struct numbering_graph *g = w->graph;
	size_t n = (size_t)g->n_funcs + 1;
	uint32_t *position = malloc(n * sizeof(*position)), *order = malloc(n * sizeof(*order));
	double *entries = calloc(n, sizeof(*entries)), *incoming = calloc(n, sizeof(*incoming));
	int err = -ENOMEM;

	if (position && order && entries && incoming)
		err = reverse_postorder(w, position, order);
	for (int sweep = 0; !err && sweep < SWEEPS; sweep++) {
		/* incoming: entries by edges against the order, from the last sweep. */
		for (uint32_t f = 0; f < g->n_funcs; f++) {
			entries[f] = incoming[f] + (g->root[f] ? 1.0 : 0.0);
			incoming[f] = 0;
		}
		for (uint32_t at = 0; at < g->n_funcs; at++) {
			uint32_t f = order[at];

			if (g->entry_count && g->entry_count[f])
				entries[f] = (double)(g->entry_count[f] - 1);
			if (entries[f] > ENTRIES_MAX)
				entries[f] = ENTRIES_MAX;
			for (uint32_t i = w->out_sites.first[f]; i < w->out_sites.first[f + 1];
			     i++) {
				uint32_t site = w->out_sites.item[i],
					 callee = g->sites[site].callee;
				double local = g->sites[site].freq * (1.0 / 1024);

				w->weight[site] = entries[f] * local;
				if (callee == NUMBERING_NO_CALLEE)
					continue;
				if (position[callee] > at)
					entries[callee] += w->weight[site];
				else
					incoming[callee] +=
						entries[f] * (local < 1.0 ? local : 1.0) * 0.5;
			}
		}
	}
	if (!err && g->samples)
		weigh_by_samples(w, entries, incoming);
	free(position);
	free(order);
	free(entries);
	free(incoming);
	return err;
}
