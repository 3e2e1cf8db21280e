/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Chooses the back edges, so that few executions are pushes.
 *
 * A site leads to all of T(site). So a cycle consists of calls and tail calls, with at least one
 * call, and only a call can be cut. First, functions that tail-call each other in a circle are
 * merged into one node. A call between two members of a node is always a back edge, and tail calls
 * between nodes form no cycle. Then Tarjan's algorithm finds the strongly connected components of
 * calls and tail calls. A call between components is never a back edge.
 *
 * Inside a component, calls are considered hottest first, all parallel ones together. A call is
 * kept if it closes no cycle with the calls kept before. So each cycle is cut at a cold call. A
 * push in a slot with room for it costs less than a third of a push by helper, and the compiler's
 * estimates are inexact in cycles. So such a call counts as much colder (ROOM_PRICE). A call of a
 * type counts as colder than all others.
 *
 * An order of the nodes that agrees with all kept edges is maintained (Pearce and Kelly's dynamic
 * topological sort). An edge that agrees with the order costs nothing. Any other edge costs a
 * search among the nodes between its ends. After the effort is used up, edges that disagree with
 * the order become back edges without a search. This costs speed, never correctness.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "numbering/steps.h"
#include "base/array.h"

#define NIL 0xffffffffu
#define ROOM_PRICE (1.0 / 128)
/* Next to nothing, since an estimate of what calls through pointers do is worth little. */
#define TYPED_PRICE 1e-12

/*
 * Finds the strongly connected components: Tarjan's algorithm, without recursion. component[v] gets
 * numbers in reverse topological order. postorder, if not NULL, gets the nodes in postorder.
 * Returns the number of components, or NIL if memory is lacking.
 */
static uint32_t find_components(uint32_t n, const struct numbering_adjacency *a,
				uint32_t *component, uint32_t *postorder)
{
	uint32_t *low = calloc((size_t)n + 1, sizeof(*low)),
		 *index = calloc((size_t)n + 1, sizeof(*index));
	uint32_t *next = malloc(((size_t)n + 1) * sizeof(*next)),
		 *path = malloc(((size_t)n + 1) * sizeof(*path));
	uint32_t *open = malloc(((size_t)n + 1) * sizeof(*open));
	uint32_t count = 0, clock = 0, n_open = 0, left = 0;

	if (!low || !index || !next || !path || !open) {
		count = NIL;
		goto out;
	}
	memset(component, 0xff, (size_t)n * sizeof(*component));
	for (uint32_t start = 0; start < n; start++) {
		uint32_t depth = 0;

		if (index[start])
			continue;
		path[depth++] = start;
		while (depth) {
			uint32_t v = path[depth - 1];

			if (!index[v]) {
				index[v] = low[v] = ++clock;
				next[v] = a->first[v];
				open[n_open++] = v;
			}
			bool descended = false;

			while (next[v] < a->first[v + 1]) {
				uint32_t to = a->item[next[v]];

				if (!index[to]) {
					path[depth++] = to;
					descended = true;
					break;
				}
				if (component[to] == NIL && low[to] < low[v])
					low[v] = low[to];
				next[v]++;
			}
			if (descended)
				continue;
			if (low[v] == index[v]) {
				uint32_t member;

				do {
					member = open[--n_open];
					component[member] = count;
				} while (member != v);
				count++;
			}
			if (postorder)
				postorder[left++] = v;
			depth--;
		}
	}
out:
	free(low);
	free(index);
	free(next);
	free(path);
	free(open);
	return count;
}

/* A kept or proposed edge between two nodes. */
struct proposal {
	double weight;
	uint32_t from, to;
	uint32_t first_site; /* the lowest of its sites */
	/* number of its sites, which are neighbours in the array ordered by ends */
	uint32_t n_sites;
	uint32_t at;
};

struct order {
	struct numbering_work *w;
	uint32_t *place;    /* of each node */
	uint32_t *out, *in; /* heads of lists of kept edges, per node */
	uint32_t *next_out, *next_in, *from, *to;
	uint32_t n_edges;
	uint32_t *mark, clock;
	uint32_t *forward, *backward, *places;
};

static int compare_places(const void *pa, const void *pb, void *ctx)
{
	const uint32_t *place = ctx;

	return place[*(const uint32_t *)pa] < place[*(const uint32_t *)pb] ? -1 : 1;
}

/*
 * Finds the nodes that start reaches (backward: that reach start) within the places [low, high].
 * Returns their number, or NIL if the search reached stop or, with limited, if the effort ended.
 */
static uint32_t search_component(struct order *o, uint32_t start, uint32_t stop, uint32_t low,
				 uint32_t high, bool backward, bool limited, uint32_t *found)
{
	const uint32_t *heads = backward ? o->in : o->out,
		       *next = backward ? o->next_in : o->next_out;
	const uint32_t *ends = backward ? o->from : o->to;
	uint32_t n = 0;

	o->clock++;
	o->mark[start] = o->clock;
	found[n++] = start;
	for (uint32_t done = 0; done < n; done++) {
		for (uint32_t e = heads[found[done]]; e != NIL; e = next[e]) {
			uint32_t v = ends[e];

			if (!numbering_take_steps(o->w, 1) && limited)
				return NIL;
			if (v == stop)
				return NIL;
			if (o->mark[v] == o->clock || o->place[v] < low || o->place[v] > high)
				continue;
			o->mark[v] = o->clock;
			found[n++] = v;
		}
	}
	return n;
}

/* Keeps the edge unless it closes a cycle. */
static bool keep_edge(struct order *o, uint32_t from, uint32_t to, bool limited)
{
	if (o->place[from] > o->place[to]) {
		uint32_t low = o->place[to], high = o->place[from], n_forward, n_backward, n = 0;

		n_forward = search_component(o, to, from, low, high, false, limited, o->forward);
		if (n_forward == NIL)
			return false;
		n_backward = search_component(o, from, NIL, low, high, true, limited, o->backward);
		if (n_backward == NIL)
			return false;
		numbering_take_steps(o->w, 4ull * (n_forward + n_backward));
		qsort_r(o->forward, n_forward, sizeof(uint32_t), compare_places, o->place);
		qsort_r(o->backward, n_backward, sizeof(uint32_t), compare_places, o->place);
		for (uint32_t i = 0; i < n_backward; i++)
			o->places[n++] = o->place[o->backward[i]];
		for (uint32_t i = 0; i < n_forward; i++)
			o->places[n++] = o->place[o->forward[i]];
		qsort(o->places, n, sizeof(uint32_t), compare_u32);
		n = 0;
		for (uint32_t i = 0; i < n_backward; i++)
			o->place[o->backward[i]] = o->places[n++];
		for (uint32_t i = 0; i < n_forward; i++)
			o->place[o->forward[i]] = o->places[n++];
	}
	uint32_t e = o->n_edges++;

	o->from[e] = from;
	o->to[e] = to;
	o->next_out[e] = o->out[from];
	o->out[from] = e;
	o->next_in[e] = o->in[to];
	o->in[to] = e;
	return true;
}

COMPARE_BY3(compare_ends, struct proposal, from, to, first_site);

static int compare_weight(const void *pa, const void *pb)
{
	const struct proposal *a = pa, *b = pb;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->first_site < b->first_site ? -1 : a->first_site > b->first_site;
}

COMPARE_BY1(compare_given, struct proposal, first_site);

struct merged {
	const struct numbering_work *w;
	const uint32_t *node; /* of each function */
};

static bool edge_merged(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item)
{
	const struct merged *m = ctx;
	const struct numbering_site *s = &m->w->graph->sites[i];

	if (m->w->out->kind[i] == NUMBERED_PUSH || s->callee == NUMBERING_NO_CALLEE)
		return false;
	*from = m->node[s->caller];
	*item = m->node[s->callee];
	return *from != *item;
}

static void make_back_edge(struct numbering_work *w, uint32_t site)
{
	w->out->kind[site] = NUMBERED_PUSH;
	w->out->n_back++;
}

/* Makes the paper's choice: the back edges of a depth-first search in the given order. */
static int break_in_given_order(struct numbering_work *w)
{
	const struct numbering_graph *g = w->graph;
	size_t n = (size_t)g->n_funcs + 1;
	uint32_t *path = malloc(n * sizeof(*path)), *next = malloc(n * sizeof(*next));
	uint8_t *state = calloc(n, 1); /* 1: on the path; 2: left */

	if (!path || !next || !state) {
		free(path);
		free(next);
		free(state);
		return -ENOMEM;
	}
	for (int roots = 1; roots >= 0; roots--) {
		for (uint32_t start = 0; start < g->n_funcs; start++) {
			uint32_t depth = 0;

			if (state[start] || (roots && !g->root[start]))
				continue;
			path[depth++] = start;
			state[start] = 1;
			next[start] = w->out_sites.first[start];
			while (depth) {
				uint32_t f = path[depth - 1];

				if (next[f] == w->out_sites.first[f + 1]) {
					state[f] = 2;
					depth--;
					continue;
				}
				uint32_t site = w->out_sites.item[next[f]++],
					 callee = g->sites[site].callee;

				if (w->out->kind[site] == NUMBERED_PUSH ||
				    callee == NUMBERING_NO_CALLEE)
					continue;
				if (state[callee] == 1) {
					if (numbering_site_has_value(w, site))
						make_back_edge(w, site);
				} else if (!state[callee]) {
					state[callee] = 1;
					next[callee] = w->out_sites.first[callee];
					path[depth++] = callee;
				}
			}
		}
	}
	free(path);
	free(next);
	free(state);
	return 0;
}

/* Tries the calls inside components, hottest first. Calls that cannot be kept become back edges. */
static int keep_hottest(struct numbering_work *w, struct order *o, const uint32_t *node,
			const uint32_t *component)
{
	const struct numbering_graph *g = w->graph;
	uint32_t n_all = 0, n = 0;
	struct proposal *all = malloc(((size_t)g->n_sites + 1) * sizeof(*all));
	struct proposal *merged = malloc(((size_t)g->n_sites + 1) * sizeof(*merged));

	if (!all || !merged) {
		free(all);
		free(merged);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < g->n_sites; i++) {
		const struct numbering_site *s = &g->sites[i];
		uint32_t from = node[s->caller];
		uint32_t to = s->callee == NUMBERING_NO_CALLEE ? NIL : node[s->callee];

		if (to == NIL || w->out->kind[i] == NUMBERED_PUSH)
			continue;
		if (w->out->kind[i] == NUMBERED_TAIL) {
			if (from != to && component[from] == component[to])
				keep_edge(o, from, to, false);
		} else if (from == to) {
			make_back_edge(w, i);
		} else if (component[from] == component[to]) {
			double price = s->flags & NUMBERING_TYPED  ? TYPED_PRICE
				       : s->flags & NUMBERING_ROOM ? ROOM_PRICE
								   : 1;

			all[n_all++] = (struct proposal){price * w->weight[i], from, to, i, 1, 0};
		}
	}
	qsort(all, n_all, sizeof(*all), compare_ends);
	for (uint32_t i = 0; i < n_all; i++) {
		if (n && merged[n - 1].from == all[i].from && merged[n - 1].to == all[i].to) {
			merged[n - 1].weight += all[i].weight;
			merged[n - 1].n_sites++;
		} else {
			merged[n] = all[i];
			merged[n++].at = i;
		}
	}
	qsort(merged, n, sizeof(*merged), w->given_order ? compare_given : compare_weight);
	for (uint32_t i = 0; i < n; i++) {
		if (keep_edge(o, merged[i].from, merged[i].to, true))
			continue;
		for (uint32_t k = 0; k < merged[i].n_sites; k++)
			make_back_edge(w, all[merged[i].at + k].first_site);
	}
	free(all);
	free(merged);
	return 0;
}

int numbering_break_cycles(struct numbering_work *w)
{
	const struct numbering_graph *g = w->graph;
	size_t n = (size_t)g->n_funcs + 1, m = (size_t)g->n_sites + 1;
	uint32_t *node = malloc(n * sizeof(*node)), *component = malloc(n * sizeof(*component));
	uint32_t *postorder = malloc(n * sizeof(*postorder));
	struct merged merged = {w, node};
	struct numbering_adjacency mixed = {};
	struct order o = {.w = w};
	uint32_t n_nodes;
	int err = 0;

	if (w->given_order)
		err = break_in_given_order(w);
	if (err)
		goto out;
	err = -ENOMEM;
	o.place = malloc(n * sizeof(uint32_t));
	o.out = malloc(n * sizeof(uint32_t));
	o.in = malloc(n * sizeof(uint32_t));
	o.mark = calloc(n, sizeof(uint32_t));
	o.forward = malloc(n * sizeof(uint32_t));
	o.backward = malloc(n * sizeof(uint32_t));
	o.places = malloc(2 * n * sizeof(uint32_t));
	o.next_out = malloc(m * sizeof(uint32_t));
	o.next_in = malloc(m * sizeof(uint32_t));
	o.from = malloc(m * sizeof(uint32_t));
	o.to = malloc(m * sizeof(uint32_t));
	if (!node || !component || !postorder || !o.place || !o.out || !o.in || !o.mark ||
	    !o.forward || !o.backward || !o.places || !o.next_out || !o.next_in || !o.from || !o.to)
		goto out;
	n_nodes = find_components(g->n_funcs, &w->tails, node, NULL);
	if (n_nodes == NIL ||
	    numbering_adjacency_build(&mixed, n_nodes, g->n_sites, edge_merged, &merged))
		goto out;
	if (find_components(n_nodes, &mixed, component, postorder) == NIL)
		goto out;
	memset(o.out, 0xff, n * sizeof(uint32_t));
	memset(o.in, 0xff, n * sizeof(uint32_t));
	for (uint32_t i = 0; i < n_nodes; i++)
		o.place[postorder[i]] = n_nodes - 1 - i;
	err = keep_hottest(w, &o, node, component);
out:
	free(node);
	free(component);
	free(postorder);
	numbering_adjacency_free(&mixed);
	free(o.place);
	free(o.out);
	free(o.in);
	free(o.mark);
	free(o.forward);
	free(o.backward);
	free(o.places);
	free(o.next_out);
	free(o.next_in);
	free(o.from);
	free(o.to);
	return err;
}
