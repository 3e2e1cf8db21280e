/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the steps of the numbering share.  In the order of their work:
 *
 *   numbering.c          tail closures, roots, and the order of the steps
 *   numbering_weight.c   how often each site is executed, estimated for the whole program
 *   numbering_cycles.c   which sites are back edges
 *   numbering_ranges.c   the ranges of ids, and which sites are cut where they overflow
 */
#ifndef PCCE_ENCODE_NUMBERING_INTERNAL_H
#define PCCE_ENCODE_NUMBERING_INTERNAL_H

#include "encode/numbering.h"

/* Adjacency lists in one array: item[first[v] .. first[v + 1]). */
struct numbering_adjacency {
	uint32_t *first;
	uint32_t *item;
};

struct numbering_work {
	const struct numbering_graph *graph;
	struct numbering *out;
	bool given_order;
	bool prefers_small; /* ids, if they take few cuts */
	uint64_t limit;
	uint32_t most_cuts; /* numbering_ranges() gives up with -E2BIG if it takes more, or all
			       steps; 0: it does not */
	uint64_t steps;	    /* of effort that are left */
	double *weight;	    /* of each site: executions in a run, relative */
	struct numbering_adjacency out_sites; /* per function: all its sites, in the order given */
	struct numbering_adjacency tails; /* per function: functions that it tail-calls directly */
	struct numbering_adjacency
		root_tails; /* the same, where a root makes a root of its callee */
	/* T of each function that may be the callee of a site with a value: itself first. Of a
	 * function without tail calls, the list is not stored. */
	struct numbering_adjacency closure;
};

int numbering_adjacency_build(struct numbering_adjacency *a, uint32_t n_nodes, uint32_t n_edges,
			      bool (*edge)(const void *ctx, uint32_t i, uint32_t *from,
					   uint32_t *item),
			      const void *ctx);
void numbering_adjacency_free(struct numbering_adjacency *a);

/* T(f) as a list: n functions. self is room for the one-element list. */
static inline const uint32_t *numbering_closure(const struct numbering_work *w, uint32_t f,
						uint32_t *self, uint32_t *n)
{
	*n = w->closure.first[f + 1] - w->closure.first[f];
	if (*n)
		return w->closure.item + w->closure.first[f];
	*self = f;
	*n = 1;
	return self;
}

static inline bool numbering_can_enter(const struct numbering_work *w, uint32_t func)
{
	return w->graph->can_enter && w->graph->can_enter[func] && !w->out->tail_out[func] &&
	       !w->given_order;
}

static inline bool numbering_site_has_value(const struct numbering_work *w, uint32_t site)
{
	return w->out->kind[site] == NUMBERED_VALUE;
}

/*
 * What owns ids is a site with a value, or the entry of a function.  Both are called an edge here:
 * the entry of f has the number n_sites + f, and f for its callee.
 */
static inline bool numbering_is_entry(const struct numbering_work *w, uint32_t edge)
{
	return edge >= w->graph->n_sites;
}

static inline uint32_t numbering_edge_callee(const struct numbering_work *w, uint32_t edge)
{
	return numbering_is_entry(w, edge) ? edge - w->graph->n_sites
					   : w->graph->sites[edge].callee;
}

static inline bool numbering_edge_has_value(const struct numbering_work *w, uint32_t edge)
{
	return numbering_is_entry(w, edge) ? w->out->entered[edge - w->graph->n_sites]
					   : numbering_site_has_value(w, edge);
}

/* Contexts that come through it. */
static inline uint64_t numbering_edge_count(const struct numbering_work *w, uint32_t edge)
{
	return numbering_is_entry(w, edge) ? 1 : w->out->num_cc[w->graph->sites[edge].caller];
}

static inline uint64_t *numbering_edge_value(const struct numbering_work *w, uint32_t edge)
{
	return numbering_is_entry(w, edge) ? &w->out->start[edge - w->graph->n_sites]
					   : &w->out->value[edge];
}

/* Takes steps of effort; false when there is none left. */
static inline bool numbering_take_steps(struct numbering_work *w, uint64_t n)
{
	if (w->steps <= n) {
		w->steps = 0;
		return false;
	}
	w->steps -= n;
	return true;
}

int numbering_weigh(struct numbering_work *w);
int numbering_break_cycles(struct numbering_work *w);
/* Marks every function a root that a root reaches by tail calls; a root is not entered. */
int numbering_close_roots(struct numbering_work *w);
void numbering_make_root(const struct numbering_work *w, uint32_t func);
/* Segments begin in the function, which is entered if it can be. */
void numbering_begin_in(const struct numbering_work *w, uint32_t func);
int numbering_ranges(struct numbering_work *w);

#endif
