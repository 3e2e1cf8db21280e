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
 * A site that cannot have a value is a push: the id is saved and begins again in its
 * callee.  A segment of the context begins there, with one of two ids:
 *
 *   root     0; no edge into the function owns 0 then.  Since a tail call keeps the id,
 *            what a root can reach by tail calls is a root as well.
 *   entered  one of its own, start(f), which the function itself sets when it is entered by
 *            other ways than the sites that have values.  In T(f) nobody else owns it.  So
 *            the hottest edge into the function can own 0.
 */
#ifndef PCCE_ENCODE_NUMBERING_H
#define PCCE_ENCODE_NUMBERING_H

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

/* 0 or -ENOMEM. The result depends on the arguments alone. */
int numbering_compute(const struct numbering_graph *graph, const struct numbering_options *options,
		      struct numbering *out);
void numbering_free(struct numbering *n);

#endif
