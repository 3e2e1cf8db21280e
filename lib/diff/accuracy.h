/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Measures how well an approximate calling context tree represents an exact one, with the metrics
 * of D'Elia, Demetrescu and Finocchi. H are the contexts that are hot in the exact tree, A those
 * that are hot in the other one. The approximate tree has A and its callers.
 */
#ifndef PCCE_DIFF_ACCURACY_H
#define PCCE_DIFF_ACCURACY_H

#include <stddef.h>
#include <stdint.h>
#include "diff/diff.h"

/* A context of either tree. Node 0 is the root; a parent has a lower number than its children. */
struct accuracy_node {
	uint32_t parent;
	uint64_t exact, approximate; /* counts */
};

#define ACCURACY_TAUS 4
extern const double accuracy_taus[ACCURACY_TAUS];

struct accuracy {
	uint64_t exact_n, approximate_n;      /* sums of counts */
	size_t exact_hot, approximate_hot;    /* sizes of H and A */
	size_t nodes;			      /* of the approximate tree, without the root */
	double overlap;			      /* share of exact_n in these nodes, percent */
	double cover[ACCURACY_TAUS];	      /* hot edge coverage by tau, percent */
	double max_uncovered, mean_uncovered; /* percent of the largest exact count */
	size_t uncovered;
	size_t false_positives, false_negatives; /* A without H, H without A */
	double max_error, mean_error; /* of counts in A, percent; counts of the approximate tree
					 are scaled if its sum is another */
	size_t unknown; /* contexts in A that the exact tree does not have; not in the errors */
};

/* n: the sums of counts of both trees; 0: add the counts up. 0 or -ENOMEM. */
int accuracy_measure(const struct accuracy_node *nodes, size_t n_nodes, double phi,
		     uint64_t exact_n, uint64_t approximate_n, struct accuracy *a);

/* Measures two recordings likewise; the exact one is `before`. The node [cold], which has what a
 * summary did not keep, is no context. */
int accuracy_of_diff(const struct diff *d, double phi, struct accuracy *a);

#endif
