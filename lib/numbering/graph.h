/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the call graph for the numbering, the numbering itself, and what its steps share:
 * adjacency lists, closures of tail calls, roots. numbering.h defines the terms.
 */
#ifndef PCCE_NUMBERING_GRAPH_H
#define PCCE_NUMBERING_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBERING_NO_CALLEE 0xffffffffu

/* numbering_site.flags */
#define NUMBERING_PUSH 1u /* must be a push: indirect, or to a function that can call back */
#define NUMBERING_TAIL 2u /* a tail call, which has no value. NO_CALLEE: leaves the graph */
#define NUMBERING_ROOM 4u /* the slot has room for a push: the best place to break a cycle */
/*
 * From a type to a function of the type: no call, but the value must be 0. It is a push that nobody
 * executes if that is impossible.
 */
#define NUMBERING_MEMBER 8u
#define NUMBERING_TYPED 16u /* to a type; makes no other site a back edge */

struct numbering_site {
	uint32_t caller;
	uint32_t callee; /* NUMBERING_NO_CALLEE: outside the graph; then it must be PUSH or TAIL */
	uint32_t flags;
	uint32_t freq; /* estimated executions per 1,024 entries of the caller */
};

struct numbering_graph {
	uint32_t n_funcs, n_sites;
	/* for each function: can a segment begin here for reasons outside the graph? */
	const uint8_t *root;
	const struct numbering_site *sites;
	/* for each function: can it be entered (numbering.h)? NULL, or given_order: none can */
	const uint8_t *can_enter;
	/*
	 * for each function: is it called by code that is no site of the graph, while no segment
	 * begins there? NULL: none is
	 */
	const uint8_t *noted;
	/*
	 * for each function: 1 + the number of its entries, from a profile; 0: not known. NULL:
	 * none is known
	 */
	const uint64_t *entry_count;
	/* for each site: samples in its callee during the call. NULL: none */
	const uint64_t *samples;
};

struct numbering_options {
	/*
	 * as in the paper: in-edges get their ranges in the order of the sites, and back edges are
	 * those of a depth-first search in that order
	 */
	bool given_order;
	/* the largest num_cc; 0: PCCE_ID_LIMIT, and preferably less: see limit.c */
	uint64_t limit;
	uint64_t effort; /* steps for a good choice of back edges and cuts; 0: default */
};

enum numbering_kind {
	NUMBERED_VALUE, /* value is valid */
	NUMBERED_PUSH,
	NUMBERED_TAIL
};

#define NUMBERING_NO_SITE 0xffffffffu

struct numbering_edge {
	uint64_t value;
	uint32_t callee;
	uint32_t site; /* NUMBERING_NO_SITE: not a call, but the start of a segment */
	/*
	 * with NUMBERING_NO_SITE: the function where it starts, which is callee or tail-called it
	 */
	uint32_t start;
};

struct numbering {
	uint8_t *kind;	  /* for each site: enum numbering_kind */
	uint8_t *cut;	  /* for each site: it is a push for lack of room */
	uint64_t *value;  /* for each site: below 2^31, or a multiple of 2^32 */
	uint64_t *num_cc; /* for each function: at least 1 */
	/* for each function: segments begin here with id 0, or come here by tail calls */
	uint8_t *root;
	/* for each function: segments begin here with the id start; edges has an edge for it */
	uint8_t *entered;
	uint64_t *start; /* for each function: below 2^31; 0 if it is not entered */
	/*
	 * for each function: tail-calls out of the graph, directly or not, so every site that calls
	 * it is a push
	 */
	uint8_t *tail_out;
	/* sorted by (callee, value); callee is any function of T(site) */
	struct numbering_edge *edges;
	size_t n_edges;
	uint32_t *first_edge; /* n_funcs + 1 indices into edges */
	uint32_t n_back, n_cut;
	uint64_t largest_id;
};

void numbering_free(struct numbering *n);

/* ---- for the steps ------------------------------------------------------------- */

/* Adjacency lists in one array: item[first[v] .. first[v + 1]). */
struct numbering_adjacency {
	uint32_t *first;
	uint32_t *item;
};

struct numbering_work {
	const struct numbering_graph *graph;
	struct numbering *out;
	bool given_order;
	bool prefers_small; /* prefers small ids if few cuts are enough */
	bool profiled;	    /* weights are counts of a run, not estimates */
	uint64_t limit;
	/* numbering_ranges() fails with -E2BIG if it needs more cuts, or all steps; 0: no limit */
	uint32_t most_cuts;
	uint64_t steps; /* steps that are left */
	double *weight; /* for each site: relative number of executions in a run */
	struct numbering_adjacency out_sites; /* per function: all its sites, in the order given */
	struct numbering_adjacency tails; /* per function: functions that it tail-calls directly */
	/* the same, only tail calls by which a root makes its callee a root */
	struct numbering_adjacency root_tails;
	/*
	 * T of each function that can be the callee of a site with a value, the function itself
	 * first. The list of a function without tail calls is not stored.
	 */
	struct numbering_adjacency closure;
};

int numbering_adjacency_build(struct numbering_adjacency *a, uint32_t n_nodes, uint32_t n_edges,
			      bool (*edge)(const void *ctx, uint32_t i, uint32_t *from,
					   uint32_t *item),
			      const void *ctx);
void numbering_adjacency_free(struct numbering_adjacency *a);

/* Returns T(f) as a list of n functions. self is memory for a list of one element. */
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
 * Sites with values and entries of functions own ids. Both are called an edge here. The entry of f
 * has the number n_sites + f and the callee f.
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

/* The number of contexts that come through the edge. */
static inline uint64_t numbering_edge_count(const struct numbering_work *w, uint32_t edge)
{
	return numbering_is_entry(w, edge) ? 1 : w->out->num_cc[w->graph->sites[edge].caller];
}

static inline uint64_t *numbering_edge_value(const struct numbering_work *w, uint32_t edge)
{
	return numbering_is_entry(w, edge) ? &w->out->start[edge - w->graph->n_sites]
					   : &w->out->value[edge];
}

/* Takes n steps of effort. False: none is left. */
static inline bool numbering_take_steps(struct numbering_work *w, uint64_t n)
{
	if (w->steps <= n) {
		w->steps = 0;
		return false;
	}
	w->steps -= n;
	return true;
}

/*
 * Callbacks for numbering_adjacency_build(). ctx is a struct numbering_graph for the first three,
 * and a struct numbering_work for the last.
 */
bool numbering_edge_out_site(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item);
bool numbering_edge_tail(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item);
bool numbering_edge_tail_reverse(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item);
/*
 * All tail calls by which a root makes its callee a root. A tail call out of a function that only
 * pushes lead to has no id to keep. So it can go through the entry slot of a callee that can be
 * entered, and does not make it a root.
 */
bool numbering_edge_tail_keeping(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item);
/* Spreads a flag along adjacency lists, from all nodes that have it. Returns 0 or -ENOMEM. */
int numbering_spread(uint8_t *flag, uint32_t n, const struct numbering_adjacency *a);

/* Adds up the weights of all sites with a callee. */
double numbering_sum_weights(const struct numbering_work *w);
/* Finds the weight of the hottest site with a value into each function. */
void numbering_find_hottest(const struct numbering_work *w, double *hottest);
/* The price of an addition, in pushes. */
#define NUMBERING_ADDITION 0.125

/* Makes every function a root that a root reaches by tail calls. A root is never entered. */
int numbering_close_roots(struct numbering_work *w);
void numbering_make_root(const struct numbering_work *w, uint32_t func);
/* Lets segments begin in the function: it becomes entered if it can, else a root. */
void numbering_begin_in(const struct numbering_work *w, uint32_t func);
/* Makes the site a push for lack of room. root: its callee becomes a root in any case. */
void numbering_cut_site(const struct numbering_work *w, uint32_t site, bool root);

#endif
