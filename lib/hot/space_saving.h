/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts the frequent items of a stream in small space: Space Saving (Metwally, Agrawal, El Abbadi)
 * with a lazy priority queue. It has 1 / epsilon counters. An item without a counter takes the
 * smallest one from its owner, and adds to it.
 *
 *   count - error <= true count <= count    of an item with a counter
 *   true count <= space_saving_min()        of any other item
 *   error, space_saving_min() <= epsilon N
 *
 * So no hot item is missing. An addition takes constant amortized
 * time if weights are 1 (lazy_queue.h). For other weights, misra_gries.h is better.
 */
#ifndef PCCE_HOT_SPACE_SAVING_H
#define PCCE_HOT_SPACE_SAVING_H

#include "hot/item_table.h"
#include "hot/lazy_queue.h"

struct space_saving {
	struct hot_counter *of; /* n items with their errors; the counts are in the queue */
	size_t n;
	uint64_t total; /* N, the sum of weights */
	struct lazy_queue queue;
	struct item_table table;
};

/* 0, or -ENOMEM: there is no memory for 1 / epsilon counters. */
int space_saving_init(struct space_saving *s, double epsilon);
void space_saving_free(struct space_saving *s);

/* Counts an item. 0, or -EOVERFLOW: N would not fit into 64 bits; nothing has changed. */
int space_saving_add(struct space_saving *s, uint64_t item, uint64_t weight);

/* Returns the bound of the true count of all items without a counter. */
uint64_t space_saving_min(struct space_saving *s);
/* Returns the counter with index i < s->n. */
struct hot_counter space_saving_counter(const struct space_saving *s, size_t i);

#endif
