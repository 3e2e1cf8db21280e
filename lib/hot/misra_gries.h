/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts the heavy items of a weighted stream in small space, and merges such summaries: Misra and
 * Gries' algorithm as Anderson and others extend it to weights (arXiv 1705.07001). With k =
 * 1 / epsilon it has 2 k counters. When all are in use, the k-th largest value is subtracted from
 * each, and counters that reach 0 become free. `offset` is the sum of what was subtracted.
 *
 *   low <= true count <= low + error         of an item with a counter
 *   low + error = count + offset
 *   error <= offset
 *   true count <= offset                     of any other item
 *   k offset + (sum of all counts) <= N      so offset <= epsilon N
 *
 * The error of an item is what it may have had before it got its counter: the offset at that time.
 * Since then its counter lost a known sum, so misra_gries_low() adds that again. An item that has
 * kept its counter since the beginning is exact.
 *
 * Counts are exact until the first subtraction, which offset 0 tells. An addition takes constant
 * amortized time with any weights, since a subtraction frees half of the counters. The k-th
 * largest value is found by quickselect, not from a sample, so the bounds are certain.
 *
 * A merge adds counts and offsets, then subtracts once. All bounds remain. A summary of Lossy
 * Counting can be merged, too, but its k offset + (sum of all counts) may be more than N. So bounds
 * remain true then, but are within epsilon N for certain only if nothing is subtracted.
 */
#ifndef PCCE_HOT_MISRA_GRIES_H
#define PCCE_HOT_MISRA_GRIES_H

#include "hot/item_table.h"

struct misra_gries {
	struct hot_counter *of; /* n counters */
	size_t n, k, capacity;	/* capacity: 2 k, or what was reserved */
	uint64_t total;		/* N, the sum of weights */
	uint64_t offset;	/* bound of what is missing from each count */
	uint64_t *values;
	struct item_table table;
};

/* 0, or -ENOMEM: there is no memory for 1 / epsilon counters. */
int misra_gries_init(struct misra_gries *m, double epsilon);
void misra_gries_free(struct misra_gries *m);

/* Makes room for n counters in all, if 2 k are fewer: only when all are in use, there is a
 * subtraction. 0 or -ENOMEM. */
int misra_gries_reserve(struct misra_gries *m, size_t n);
/* Ends with 2 k counters, or as few as possible with errors within epsilon N. The items with the
 * smallest counts lose theirs. */
void misra_gries_shrink(struct misra_gries *m);

/* Counts an item. 0, or -EOVERFLOW: N would not fit into 64 bits; nothing has changed. */
int misra_gries_add(struct misra_gries *m, uint64_t item, uint64_t weight);

/*
 * Makes a summary from what another one has said: N, the offset, and then each item with its
 * bounds. For a merge of summaries that were written to files. misra_gries_restore() returns 0,
 * -EINVAL: no summary can say this, or it has no counter left for the item.
 */
int misra_gries_begin(struct misra_gries *m, uint64_t total, uint64_t offset);
int misra_gries_restore(struct misra_gries *m, uint64_t item, uint64_t low, uint64_t error);

/* Adds another summary, whose epsilon must not be larger. 0, -EOVERFLOW as above, or -EINVAL: its
 * epsilon is larger. */
int misra_gries_merge(struct misra_gries *m, const struct misra_gries *from);

/* Returns the bounds of an item's true count. */
uint64_t misra_gries_low(const struct misra_gries *m, uint64_t item);
uint64_t misra_gries_error(const struct misra_gries *m, uint64_t item); /* high - low */
uint64_t misra_gries_high(const struct misra_gries *m, uint64_t item);

#endif
