/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a numbering would have done in a counted run: the encoding stack of each function instance,
 * and what each call executes.
 */
#ifndef PCCE_BENCH_REPLAY_H
#define PCCE_BENCH_REPLAY_H

#include "bench/paper/count.h"
#include "bench/paper/program.h"

/* How many instances have which depth: n[depth]. */
struct depths {
	uint64_t *n;
	uint32_t size;
};

struct replay {
	uint64_t contexts;     /* nodes that are instances of functions */
	uint64_t instances;    /* how often they were entered */
	struct depths calls;   /* depth in functions */
	struct depths entries; /* depth of the encoding stack, in which a repetition adds nothing */
	struct depths pushes;  /* the same without compression: pushes under way */
	uint64_t nothing, adds, pushed; /* calls by what their slots execute */
};

/* notes: calls of functions of the program that call nothing note the site (PCCE_KIND_EXT), which
 * counts as nothing. */
int replay_run(const struct program *p, const struct numbering *n, bool notes,
	       const struct count_file *tree, struct replay *out, struct error *why);
void replay_free(struct replay *r);

/* The least depth that a share of the instances (0 to 1) does not exceed; 1: the greatest. */
uint32_t depths_quantile(const struct depths *d, double share);

#endif
