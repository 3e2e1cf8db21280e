/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A queue that sorts by time what several buffers deliver almost in order.
 *
 * Blobs go in with their times; flush() hands out, in order of time, all that are not
 * later than a limit, and keeps the rest.  Equal times keep the order in which they came.
 */
#ifndef PCCE_SAMPLER_TIME_QUEUE_H
#define PCCE_SAMPLER_TIME_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct time_queue_item {
	uint64_t time;
	uint32_t order, kind; /* kind: the caller's */
	size_t at, size;
};

struct time_queue {
	struct time_queue_item *items;
	size_t n, capacity;
	uint8_t *bytes;
	size_t used, bytes_capacity;
};

/* Room for a blob of that size, aligned to 8, to be filled before the next call; NULL: out of
 * memory. */
void *time_queue_add(struct time_queue *r, uint64_t time, uint32_t kind, size_t size);

/* Stops at the first non-zero result and returns it. */
int time_queue_flush(struct time_queue *r, uint64_t limit,
		     int (*out)(void *ctx, uint32_t kind, const void *blob, size_t size),
		     void *ctx);
void time_queue_free(struct time_queue *r);

#endif
