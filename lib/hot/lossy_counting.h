/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts the frequent items of a stream in small space: Lossy Counting (Manku, Motwani), for
 * comparison with Space Saving. Its memory is not fixed: after each 1 / epsilon new counters, it
 * removes those of items that cannot have more than epsilon N. `pruned` is epsilon N at the last
 * removal.
 *
 *   count <= true count <= count + error    of an item with a counter
 *   true count <= pruned                    of any other item
 *   error, pruned <= epsilon N
 *
 * Here error is what the item may have lost before it got its counter. At most about
 * log(epsilon N) / epsilon counters exist if weights are 1.
 */
#ifndef PCCE_HOT_LOSSY_COUNTING_H
#define PCCE_HOT_LOSSY_COUNTING_H

#include "hot/item_table.h"

struct lossy_counting {
	struct hot_counter *of; /* n counters */
	size_t n, capacity;
	size_t period, fresh; /* 1 / epsilon; new counters since the last removal */
	uint64_t total;	      /* N, the sum of weights */
	uint64_t pruned;
	double epsilon;
	struct item_table table;
};

/* 0 or -ENOMEM. */
int lossy_counting_init(struct lossy_counting *l, double epsilon);
void lossy_counting_free(struct lossy_counting *l);

/* Counts an item. 0, or -EOVERFLOW: N would not fit into 64 bits, or -ENOMEM; nothing has changed
 * then. */
int lossy_counting_add(struct lossy_counting *l, uint64_t item, uint64_t weight);

#endif
