/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbering of a call graph: Precise Calling Context Encoding (Sumner, Zheng,
 * Weeratunge, Zhang: ICSE 2010, Algorithms 1 and 3).  Pure: no ELF file, no I/O.
 *
 * Terms.  A site is an edge of the graph: one call (or a group of copies of one
 * call) from a caller to a direct callee.  T(site) is its callee and all functions
 * that the callee may reach through direct tail calls: after the call, the program
 * is in any of them with the same id.  So a site with the value v and a caller of n
 * contexts owns the ids [v, v + n) in every function of T(site), and nobody else
 * does.  num_cc(f) is one more than the highest id in f.
 *
 * A site that cannot have a value is a push: the id is saved and begins again with
 * 0 in its callee.  A function in which that can happen is a root; id 0 is then the
 * root itself, and no edge into it owns 0.  Since a tail call keeps the id, what a
 * root can reach by tail calls is a root as well.
 */
#ifndef PCCE_NUMBERING_H
#define PCCE_NUMBERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBERING_NO_CALLEE 0xffffffffu

/* numbering_site.flags */
#define NUMBERING_PUSH 1u /* must be a push: indirect, or to a function that may call back */
#define NUMBERING_TAIL 2u /* a tail call: no value of its own. NO_CALLEE: leaves the graph */

struct numbering_site {
	uint32_t caller;
	uint32_t callee; /* NUMBERING_NO_CALLEE: outside the graph; then it must be PUSH or TAIL */
	uint32_t flags;
	uint32_t freq; /* estimated executions per 1,024 entries of the caller */
};

struct numbering_graph {
	uint32_t n_funcs, n_sites;
	const uint8_t *root; /* for each function: may a segment begin here for reasons outside the graph? */
	const struct numbering_site *sites;
};

struct numbering_options {
	bool given_order; /* in-edges get their ranges in the order of the sites, back edges are those that a
			   * depth-first search in that order finds: as in the paper */
	uint64_t limit;	  /* num_cc stays at most this; 0: PCCE_ID_LIMIT */
	uint64_t effort;  /* steps that may be spent on choosing back edges and cuts well; 0: default */
};

enum numbering_kind {
	NUMBERED_VALUE, /* value is valid */
	NUMBERED_PUSH,
	NUMBERED_TAIL
};

struct numbering_edge {
	uint64_t value;
	uint32_t callee;
	uint32_t site;
};

struct numbering {
	uint8_t *kind;	   /* for each site: enum numbering_kind */
	uint64_t *value;   /* for each site: below 2^31, or a multiple of 2^32 */
	uint64_t *num_cc;  /* for each function: at least 1 */
	uint8_t *root;	   /* for each function */
	uint8_t *tail_out; /* for each function: tail-calls out of the graph, at least transitively, so that every
			    * site that calls it is a push */
	struct numbering_edge *edges; /* sorted by (callee, value); callee is any function of T(site) */
	size_t n_edges;
	uint32_t *first_edge; /* n_funcs + 1 indices into edges */
	uint32_t n_back, n_cut;
	uint64_t largest_id;
};

/* 0 or -ENOMEM. The result depends on the arguments alone. */
int numbering_compute(const struct numbering_graph *graph, const struct numbering_options *options,
		      struct numbering *out);
void numbering_free(struct numbering *n);

#endif
