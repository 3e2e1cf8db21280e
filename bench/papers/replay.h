/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares what a numbering would have done in a counted run: the depth of the encoding stack in
 * each function instance, and what each call executes.
 */
#ifndef PCCE_BENCH_REPLAY_H
#define PCCE_BENCH_REPLAY_H

#include "bench/papers/count.h"
#include "bench/papers/program.h"

/* n[depth]: the number of function instances at that depth. */
struct depths {
	uint64_t *n;
	uint32_t size;
};

struct replay {
	uint64_t contexts;     /* nodes that are instances of functions */
	uint64_t instances;    /* how often they were entered */
	struct depths calls;   /* depth in functions */
	struct depths entries; /* depth of the encoding stack, with compressed repetitions */
	struct depths pushes;  /* depth of the encoding stack without compression */
	uint64_t nothing, adds, pushed; /* calls, by what their slots execute */
};

/* Replays the tree.  With notes, calls of functions of the program that call nothing note the site
 * (PCCE_KIND_EXT); they count as nothing.  Returns 0, or -errno with a message in why. */
int replay_run(const struct program *p, const struct numbering *n, bool notes,
	       const struct count_file *tree, struct replay *out, struct error *why);
void replay_free(struct replay *r);

/* Returns the least depth that a share (0 to 1) of the instances does not exceed.  A share of 1
 * gives the greatest depth. */
uint32_t depths_quantile(const struct depths *d, double share);

#endif
