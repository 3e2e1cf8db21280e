/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The call graph that is numbered, its numbering, and what the steps of the numbering share:
 * adjacency lists, closures of tail calls, roots.  numbering.h has the terms.
 */
#ifndef PCCE_ENCODE_NUMBERING_GRAPH_H
#define PCCE_ENCODE_NUMBERING_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBERING_NO_CALLEE 0xffffffffu

/* numbering_site.flags */
#define NUMBERING_PUSH 1u /* must be a push: indirect, or to a function that may call back */
#define NUMBERING_TAIL 2u /* a tail call: no value of its own. NO_CALLEE: leaves the graph */
#define NUMBERING_ROOM 4u /* the slot has room for a push: the best place to break a cycle */

struct numbering_site {
	uint32_t caller;
	uint32_t callee; /* NUMBERING_NO_CALLEE: outside the graph; then it must be PUSH or TAIL */
	uint32_t flags;
	uint32_t freq; /* estimated executions per 1,024 entries of the caller */
};

struct numbering_graph {
	uint32_t n_funcs, n_sites;
	const uint8_t *root; /* for each function: may a segment begin here for reasons outside the
				graph? */
	const struct numbering_site *sites;
	const uint8_t *can_enter; /* for each function: can it be entered, in the sense above? NULL,
				     or the paper's order: none */
	const uint8_t *noted; /* for each function: is it called by what is no site of the graph,
				 and yet no segment begins there? NULL: none */
	const uint64_t *entry_count; /* for each function: 1 + how often it is entered, from a
				     profile; 0: not known. NULL: none is */
	const uint64_t *samples; /* for each site: samples that were taken in its callee when it was
				 called from here. NULL: none were */
};

struct numbering_options {
	bool given_order; /* in-edges get their ranges in the order of the sites, back edges are
			   * those that a depth-first search in that order finds: as in the paper */
	uint64_t limit;	 /* num_cc stays at most this; 0: PCCE_ID_LIMIT, and by preference less, see
			    numbering.c */
	uint64_t effort; /* steps that may be spent on choosing back edges and cuts well; 0: default
			  */
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
	uint32_t site;	/* NUMBERING_NO_SITE: no call, but a segment that begins */
	uint32_t start; /* NUMBERING_NO_SITE: in this function, which has tail-called callee or is
			   it */
};

struct numbering {
	uint8_t *kind;	   /* for each site: enum numbering_kind */
	uint64_t *value;   /* for each site: below 2^31, or a multiple of 2^32 */
	uint64_t *num_cc;  /* for each function: at least 1 */
	uint8_t *root;	   /* for each function: segments begin here with id 0, or get here by tail
			      calls */
	uint8_t *entered;  /* for each function: segments begin here with id start, for which it has
			      an edge */
	uint64_t *start;   /* for each function: below 2^31; 0 if it is not entered */
	uint8_t *tail_out; /* for each function: tail-calls out of the graph, at least transitively,
			    * so that every site that calls it is a push */
	struct numbering_edge
		*edges; /* sorted by (callee, value); callee is any function of T(site) */
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

/* For numbering_adjacency_build(); ctx of the first three: struct numbering_graph, of the last:
 * struct numbering_work. */
bool numbering_edge_out_site(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item);
bool numbering_edge_tail(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item);
bool numbering_edge_tail_reverse(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item);
/* A tail call out of a function that only pushes lead to: it may go through its callee's entry,
 * since there is no id to be kept. So it does not make a root of one that can be entered. */
bool numbering_edge_tail_keeping(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item);
/* Spreads a flag along adjacency lists, from all nodes that have it. 0 or -ENOMEM. */
int numbering_spread(uint8_t *flag, uint32_t n, const struct numbering_adjacency *a);

/* Marks every function a root that a root reaches by tail calls; a root is not entered. */
int numbering_close_roots(struct numbering_work *w);
void numbering_make_root(const struct numbering_work *w, uint32_t func);
/* Segments begin in the function, which is entered if it can be. */
void numbering_begin_in(const struct numbering_work *w, uint32_t func);

#endif
