/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs the steps of the numbering: prepares the graph, runs the steps, and collects the edges for
 * the decoder. numbering.h defines the terms.
 *
 * Tail calls. A function that tail-calls through a pointer or out of the graph (tail_out) could
 * pass its id to unknown code. So every site that calls it is a push: the id is 0, and the top
 * entry names the site, wherever the chain of tail calls leads. A function whose closure has more
 * than CLOSURE_MAX members is treated in the same way, so that the sum over all sites stays linear.
 *
 * A function that nothing calls becomes a root. This costs nothing, since its num_cc is 1 anyway.
 * If it is entered in an unforeseen way, its contexts still decode.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/abi.h>
#include "base/array.h"
#include "numbering/numbering.h"
#include "numbering/steps.h"

#define CLOSURE_MAX 256
#define DEFAULT_EFFORT 150000000ull

static int find_tail_out(struct numbering_work *w)
{
	const struct numbering_graph *g = w->graph;
	struct numbering_adjacency reverse = {};
	int err;

	for (uint32_t i = 0; i < g->n_sites; i++)
		if ((g->sites[i].flags & NUMBERING_TAIL) &&
		    g->sites[i].callee == NUMBERING_NO_CALLEE)
			w->out->tail_out[g->sites[i].caller] = 1;
	err = numbering_adjacency_build(&reverse, g->n_funcs, g->n_sites,
					numbering_edge_tail_reverse, g);
	if (!err)
		err = numbering_spread(w->out->tail_out, g->n_funcs, &reverse);
	numbering_adjacency_free(&reverse);
	return err;
}

/*
 * Finds T(f) of every function with tail calls, in breadth-first order. A function whose closure is
 * too large gets tail_out. So do all that reach it, since their closures are larger still.
 */
static int find_closures(struct numbering_work *w)
{
	uint32_t n = w->graph->n_funcs;
	uint32_t *seen = calloc((size_t)n + 1, sizeof(*seen));
	size_t used = 0, capacity = 0;
	uint32_t *item;
	uint32_t *first = calloc((size_t)n + 2, sizeof(*first));

	w->closure.first = first;
	if (!seen || !first) {
		free(seen);
		return -ENOMEM;
	}
	for (uint32_t f = 0; f < n; f++) {
		uint32_t count = 0;

		first[f] = used;
		if (w->out->tail_out[f] || w->tails.first[f] == w->tails.first[f + 1])
			continue;
		if (array_reserve(&w->closure.item, &capacity, used + CLOSURE_MAX + 1,
				  sizeof(*item))) {
			free(seen);
			return -ENOMEM;
		}
		item = w->closure.item;
		item[used + count++] = f;
		seen[f] = f + 1;
		for (uint32_t done = 0; done < count && count <= CLOSURE_MAX; done++) {
			uint32_t v = item[used + done];

			for (uint32_t i = w->tails.first[v];
			     i < w->tails.first[v + 1] && count <= CLOSURE_MAX; i++) {
				uint32_t to = w->tails.item[i];

				if (seen[to] == f + 1)
					continue;
				seen[to] = f + 1;
				item[used + count++] = to;
			}
		}
		if (count > CLOSURE_MAX)
			w->out->tail_out[f] = 1;
		else
			used += count;
	}
	first[n] = used;
	free(seen);
	return 0;
}

static void choose_kinds(struct numbering_work *w)
{
	const struct numbering_graph *g = w->graph;

	for (uint32_t i = 0; i < g->n_sites; i++) {
		const struct numbering_site *s = &g->sites[i];

		if (s->flags & NUMBERING_TAIL)
			w->out->kind[i] = NUMBERED_TAIL;
		else if (s->callee == NUMBERING_NO_CALLEE || (s->flags & NUMBERING_PUSH) ||
			 w->out->tail_out[s->callee])
			w->out->kind[i] = NUMBERED_PUSH;
		else
			w->out->kind[i] = NUMBERED_VALUE;
	}
}

/*
 * Estimates what each function saves if it is entered and not a root. The hottest site into it no
 * longer adds to the id, but each direct push costs setting the id. How often other ways lead there
 * is not known.
 */
static void find_gains(const struct numbering_work *w, double *gain)
{
	const struct numbering_graph *g = w->graph;

	for (uint32_t i = 0; i < g->n_sites; i++)
		if (numbering_site_has_value(w, i) && 2 * w->weight[i] > gain[g->sites[i].callee])
			gain[g->sites[i].callee] = 2 * w->weight[i];
	for (uint32_t i = 0; i < g->n_sites; i++)
		if (w->out->kind[i] == NUMBERED_PUSH && g->sites[i].callee != NUMBERING_NO_CALLEE &&
		    !(g->sites[i].flags & NUMBERING_MEMBER))
			gain[g->sites[i].callee] -= w->weight[i];
}

/*
 * Marks where segments begin: in the given roots, in callees of pushes, in functions that nothing
 * calls, and in the tail closures of roots.
 */
static int find_roots(struct numbering_work *w)
{
	const struct numbering_graph *g = w->graph;
	uint8_t *called = calloc((size_t)g->n_funcs + 1, 1);
	double *gain = calloc((size_t)g->n_funcs + 1, sizeof(*gain));

	if (!called || !gain) {
		free(called);
		free(gain);
		return -ENOMEM;
	}
	find_gains(w, gain);
	for (uint32_t i = 0; i < g->n_sites; i++) {
		uint32_t callee = g->sites[i].callee;

		if (callee == NUMBERING_NO_CALLEE)
			continue;
		if (numbering_site_has_value(w, i)) {
			uint32_t self, n;
			const uint32_t *t = numbering_closure(w, callee, &self, &n);

			while (n)
				called[t[--n]] = 1;
		} else if (g->sites[i].flags & NUMBERING_MEMBER) {
			continue;
		} else if (w->out->kind[i] == NUMBERED_PUSH) {
			if (gain[callee] > 0)
				numbering_begin_in(w, callee);
			else
				w->out->root[callee] = 1;
		} else if (w->out->tail_out[g->sites[i].caller]) {
			numbering_begin_in(w, callee);
		}
	}
	for (uint32_t f = 0; f < g->n_funcs; f++)
		if (g->root[f] || !(called[f] || (g->noted && g->noted[f])))
			numbering_begin_in(w, f);
	free(called);
	free(gain);
	return numbering_close_roots(w);
}

/* A type that no call leads to needs no members. */
static int leave_out_types(struct numbering_work *w)
{
	const struct numbering_graph *g = w->graph;
	uint8_t *called = calloc((size_t)g->n_funcs + 1, 1);

	if (!called)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_sites; i++)
		if (numbering_site_has_value(w, i))
			called[g->sites[i].callee] = 1;
	for (uint32_t i = 0; i < g->n_sites; i++)
		if (g->sites[i].flags & NUMBERING_MEMBER && !called[g->sites[i].caller])
			w->out->kind[i] = NUMBERED_PUSH;
	free(called);
	return 0;
}

/* A function that could not give its ids from 0 to its type is no member. */
static void leave_out_members(struct numbering_work *w)
{
	for (uint32_t i = 0; i < w->graph->n_sites; i++)
		if (w->graph->sites[i].flags & NUMBERING_MEMBER && w->out->value[i])
			w->out->kind[i] = NUMBERED_PUSH;
}

COMPARE_BY1(compare_edges, struct numbering_edge, value);

static int collect_edges(struct numbering_work *w)
{
	const struct numbering_graph *g = w->graph;
	struct numbering *out = w->out;
	uint32_t self, n, n_all = g->n_sites + g->n_funcs;
	size_t total = 0;

	for (uint32_t i = 0; i < n_all; i++) {
		if (!numbering_edge_has_value(w, i))
			continue;
		const uint32_t *t = numbering_closure(w, numbering_edge_callee(w, i), &self, &n);

		total += n;
		while (n)
			out->first_edge[t[--n] + 1]++;
	}
	out->edges = malloc((total + 1) * sizeof(*out->edges));
	uint32_t *at = calloc((size_t)g->n_funcs + 1, sizeof(*at));

	if (!out->edges || !at) {
		free(at);
		return -ENOMEM;
	}
	out->n_edges = total;
	for (uint32_t f = 0; f < g->n_funcs; f++) {
		out->first_edge[f + 1] += out->first_edge[f];
		at[f] = out->first_edge[f];
	}
	for (uint32_t i = 0; i < n_all; i++) {
		if (!numbering_edge_has_value(w, i))
			continue;
		const uint32_t *t = numbering_closure(w, numbering_edge_callee(w, i), &self, &n);

		while (n--)
			out->edges[at[t[n]]++] = (struct numbering_edge){
				.value = *numbering_edge_value(w, i),
				.callee = t[n],
				.site = numbering_is_entry(w, i) ? NUMBERING_NO_SITE : i,
				.start = numbering_is_entry(w, i) ? i - g->n_sites
								  : NUMBERING_NO_SITE,
			};
	}
	free(at);
	for (uint32_t f = 0; f < g->n_funcs; f++) {
		qsort(out->edges + out->first_edge[f], out->first_edge[f + 1] - out->first_edge[f],
		      sizeof(*out->edges), compare_edges);
		if (out->num_cc[f] - 1 > out->largest_id)
			out->largest_id = out->num_cc[f] - 1;
	}
	return 0;
}

static int run_numbering_steps(struct numbering_work *w)
{
	const struct numbering_graph *g = w->graph;
	int err;

	err = numbering_adjacency_build(&w->out_sites, g->n_funcs, g->n_sites,
					numbering_edge_out_site, g);
	if (!err)
		err = numbering_adjacency_build(&w->tails, g->n_funcs, g->n_sites,
						numbering_edge_tail, g);
	if (!err)
		err = find_tail_out(w);
	if (!err)
		err = numbering_adjacency_build(&w->root_tails, g->n_funcs, g->n_sites,
						numbering_edge_tail_keeping, w);
	if (!err)
		err = find_closures(w);
	if (err)
		return err;
	choose_kinds(w);
	err = numbering_weigh(w);
	if (!err) {
		uint64_t half = w->steps / 2;

		w->steps -= half;
		err = numbering_break_cycles(w);
		w->steps += half;
	}
	if (!err)
		err = leave_out_types(w);
	if (!err)
		err = find_roots(w);
	if (!err)
		err = numbering_limit(w);
	if (err)
		return err;
	leave_out_members(w);
	return collect_edges(w);
}

/* Do counts of calls decide, not estimates? */
static bool is_profiled(const struct numbering_graph *g)
{
	uint32_t known = 0;

	for (uint32_t f = 0; g->entry_count && f < g->n_funcs; f++)
		known += g->entry_count[f] != 0;
	return g->samples || known > g->n_funcs / 2;
}

int numbering_compute(const struct numbering_graph *graph, const struct numbering_options *options,
		      struct numbering *out)
{
	struct numbering_work w = {
		.graph = graph,
		.out = out,
		.given_order = options && options->given_order,
		.limit = options && options->limit ? options->limit : PCCE_ID_LIMIT,
		.prefers_small = !options || (!options->limit && !options->given_order),
		.profiled = !(options && options->given_order) && is_profiled(graph),
		.steps = options && options->effort ? options->effort : DEFAULT_EFFORT,
	};
	size_t n = graph->n_funcs, s = graph->n_sites;
	int err = -ENOMEM;

	memset(out, 0, sizeof(*out));
	out->kind = calloc(s + 1, 1);
	out->cut = calloc(s + 1, 1);
	out->value = calloc(s + 1, sizeof(*out->value));
	out->num_cc = calloc(n + 1, sizeof(*out->num_cc));
	out->root = calloc(n + 1, 1);
	out->entered = calloc(n + 1, 1);
	out->start = calloc(n + 1, sizeof(*out->start));
	out->tail_out = calloc(n + 1, 1);
	out->first_edge = calloc(n + 2, sizeof(*out->first_edge));
	w.weight = calloc(s + 1, sizeof(*w.weight));
	if (out->kind && out->cut && out->value && out->num_cc && out->root && out->entered &&
	    out->start && out->tail_out && out->first_edge && w.weight && s < UINT32_MAX - n)
		err = run_numbering_steps(&w);
	free(w.weight);
	numbering_adjacency_free(&w.out_sites);
	numbering_adjacency_free(&w.tails);
	numbering_adjacency_free(&w.root_tails);
	numbering_adjacency_free(&w.closure);
	if (err)
		numbering_free(out);
	return err;
}
