/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the smallest of an array of counters that only grow: the lazy priority queue of D'Elia,
 * Demetrescu and Finocchi (Algorithm 2). The array is not sorted. The queue remembers the minimum,
 * and an index before which no counter has that value. Both may be out of date when a counter
 * grows, so an increment costs nothing. lazy_queue_min() searches on from that index for another
 * counter with the same value. It computes a new minimum only if there is none.
 *
 * If each increment is 1, lazy_queue_min() takes constant amortized time. With larger increments
 * it is still right, but can take time proportional to the number of counters.
 *
 * Counters are in their own array here, not in the nodes of a tree. So the search reads memory in
 * order.
 */
#ifndef PCCE_HOT_LAZY_QUEUE_H
#define PCCE_HOT_LAZY_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct lazy_queue {
	uint64_t *counts; /* n > 0 counters; the caller adds to them */
	size_t n;
	uint64_t min;
	size_t at;
};

/* All counters are 0. 0 or -ENOMEM. */
int lazy_queue_init(struct lazy_queue *q, size_t n);
void lazy_queue_free(struct lazy_queue *q);

/* Returns the index of a smallest counter. */
static inline size_t lazy_queue_min(struct lazy_queue *q)
{
	while (q->at < q->n && q->counts[q->at] != q->min)
		q->at++;
	if (q->at < q->n)
		return q->at;
	q->at = 0;
	for (size_t i = 1; i < q->n; i++)
		if (q->counts[i] < q->counts[q->at])
			q->at = i;
	q->min = q->counts[q->at];
	return q->at;
}

#endif
