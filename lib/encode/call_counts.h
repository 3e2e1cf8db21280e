/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts, for each site of a program, how often a recording has it on top: the number of samples in
 * the function that the site calls, taken during its call. Samples in functions which that function
 * calls do not count, unless they are uninstrumented. profile/call_counts_read.h reads the counts
 * from a recording, and numbering/weight.c uses them.
 */
#ifndef PCCE_ENCODE_CALL_COUNTS_H
#define PCCE_ENCODE_CALL_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct call_count {
	uint64_t key; /* of the site (include/pcce/table.h); link-time */
	uint64_t samples;
};

/* A function that a site has called through a pointer. */
struct call_target {
	uint64_t key;
	uint64_t callee;  /* its link-time address */
	uint64_t samples; /* anywhere below this call */
	uint64_t on_top;  /* of them, those that count for the site in call_count */
};

struct call_counts {
	struct call_count *all; /* ordered by key, each once; malloc'ed */
	size_t n;
	struct call_target *targets; /* ordered by key and callee, each once; malloc'ed */
	size_t n_targets;
	/* Functions that were tail-called through a pointer. The key is the address of the function
	 * that was left; on_top is 0. */
	struct call_target *tails;
	size_t n_tails;
	uint64_t samples; /* the sum, not 0 */
};

/* Orders struct call_target by key and callee, for qsort(). */
int call_target_compare(const void *a, const void *b);
/* The first of n targets whose key is at least that; the end if there is none. */
const struct call_target *call_target_find(const struct call_target *all, size_t n, uint64_t key);
void call_counts_free(struct call_counts *c);

#endif
