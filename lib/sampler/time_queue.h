/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Queues items of several buffers, which are almost in order, and sorts them by time.
 *
 * Items are added with their times. time_queue_flush() passes on all items up to a time limit in
 * the order of time, and keeps the rest. Items of equal time keep the order of arrival.
 */
#ifndef PCCE_SAMPLER_TIME_QUEUE_H
#define PCCE_SAMPLER_TIME_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct time_queue_item {
	uint64_t time;
	uint32_t order, kind; /* kind: for the caller */
	size_t at, size;
};

struct time_queue {
	struct time_queue_item *items;
	size_t n, capacity;
	uint8_t *bytes;
	size_t used, bytes_capacity;
};

/* Returns space for an item, aligned to 8, which the caller fills before the next call. NULL: out
 * of memory. */
void *time_queue_add(struct time_queue *r, uint64_t time, uint32_t kind, size_t size);

/* Passes items up to limit to out(). Stops at the first result that is not 0, and returns it. */
int time_queue_flush(struct time_queue *r, uint64_t limit,
		     int (*out)(void *ctx, uint32_t kind, const void *blob, size_t size),
		     void *ctx);
void time_queue_free(struct time_queue *r);

#endif
