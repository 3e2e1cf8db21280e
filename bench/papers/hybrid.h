/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares what hybrid encoding (the paper's section 6) would have done in a counted run.
 *
 * A context segment would keep the stack pointer of its beginning.  A context is implicit if the
 * distance from there to the frame tells it apart, so that the id stays 0.
 */
#ifndef PCCE_BENCH_HYBRID_H
#define PCCE_BENCH_HYBRID_H

#include "bench/papers/count.h"
#include "bench/papers/frames.h"
#include "bench/papers/program.h"

struct hybrid_options {
	/* order in-edges by their counts in this run, not by estimates: a bound for any estimate */
	bool counted_order;
	uint32_t most_offsets; /* implicit contexts of a function */
};

struct hybrid {
	/* calls in the run */
	uint64_t calls;
	uint64_t noted_inside, noted_outside; /* calls that only note the site */
	uint64_t indirect, callbacks, other;  /* pushes: through pointers, of outside code, rest */
	uint64_t moving;      /* of the rest: pushes since the frame of the caller is not fixed */
	uint64_t zero, added; /* the other calls without hybrid encoding */
	uint64_t added_at_least; /* if the hottest edge of each function had the value 0 */
	/* the same calls with hybrid encoding: */
	uint64_t none;		  /* no instruction (the paper's case b, and values of 0) */
	uint64_t passed, guarded; /* case c: the guard finds 0, or adds */
	uint64_t conflicts;	  /* case a: adds */
	/* contexts of the run that have the id and the offset of another one: must be 0 */
	uint64_t collisions;
	/* the graph */
	uint32_t functions, implicit_functions; /* the latter: all contexts are implicit */
	uint32_t edges, edges_none, edges_guarded, edges_conflict, edges_moving;
};

/* Returns 0, or -errno with a message in why.  Changes the graph of p. */
int hybrid_run(struct program *p, const struct frames *frames, const struct count_file *tree,
	       const struct hybrid_options *options, struct hybrid *out, struct error *why);

#endif
