/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the time queue with qsort(). The few remaining items move to the front after each
 * flush. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "sampler/time_queue.h"

void *time_queue_add(struct time_queue *r, uint64_t time, uint32_t kind, size_t size)
{
	size_t padded = (size + 7) & ~(size_t)7;
	struct time_queue_item *item;

	if (array_reserve(&r->items, &r->capacity, r->n + 1, sizeof(*r->items)) ||
	    array_reserve(&r->bytes, &r->bytes_capacity, r->used + padded, 1))
		return NULL;
	item = &r->items[r->n];
	*item = (struct time_queue_item){
		.time = time, .order = (uint32_t)r->n, .kind = kind, .at = r->used, .size = size};
	r->n++;
	r->used += padded;
	return r->bytes + item->at;
}

COMPARE_BY2(compare_item_times, struct time_queue_item, time, order);

COMPARE_BY1(compare_item_order, struct time_queue_item, order);

/* Moves the remaining items to the front, in the order of arrival. */
static void compact_items(struct time_queue *r, size_t done)
{
	size_t i, at = 0;

	r->n -= done;
	memmove(r->items, r->items + done, r->n * sizeof(*r->items));
	if (r->n)
		qsort(r->items, r->n, sizeof(*r->items), compare_item_order);
	for (i = 0; i < r->n; i++) {
		struct time_queue_item *item = &r->items[i];

		memmove(r->bytes + at, r->bytes + item->at, item->size);
		item->at = at;
		item->order = (uint32_t)i;
		at += (item->size + 7) & ~(size_t)7;
	}
	r->used = at;
}

int time_queue_flush(struct time_queue *r, uint64_t limit,
		     int (*out)(void *ctx, uint32_t kind, const void *blob, size_t size), void *ctx)
{
	size_t i;
	int err = 0;

	if (!r->n)
		return 0;
	qsort(r->items, r->n, sizeof(*r->items), compare_item_times);
	for (i = 0; i < r->n && r->items[i].time <= limit && !err; i++)
		err = out(ctx, r->items[i].kind, r->bytes + r->items[i].at, r->items[i].size);
	compact_items(r, i);
	return err;
}

void time_queue_free(struct time_queue *r)
{
	free(r->items);
	free(r->bytes);
	memset(r, 0, sizeof(*r));
}
