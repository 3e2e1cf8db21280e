/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements Space Saving: an array of items, and a queue of their counters. */
#include <errno.h>
#include <stdlib.h>
#include "hot/parameters.h"
#include "hot/space_saving.h"

int space_saving_init(struct space_saving *s, double epsilon)
{
	size_t n = hot_counters(epsilon);

	*s = (struct space_saving){0};
	if (!n)
		return -ENOMEM;
	s->of = calloc(n, sizeof(*s->of));
	if (s->of && !lazy_queue_init(&s->queue, n) && !item_table_init(&s->table, n))
		return 0;
	space_saving_free(s);
	return -ENOMEM;
}

void space_saving_free(struct space_saving *s)
{
	free(s->of);
	lazy_queue_free(&s->queue);
	item_table_free(&s->table);
	*s = (struct space_saving){0};
}

int space_saving_add(struct space_saving *s, uint64_t item, uint64_t weight)
{
	uint32_t at;

	if (!weight)
		return 0;
	if (__builtin_add_overflow(s->total, weight, &s->total)) {
		s->total -= weight;
		return -EOVERFLOW;
	}
	at = item_table_find(&s->table, s->of, item);
	if (at == UINT32_MAX) {
		if (s->n < s->queue.n) {
			at = s->n++;
		} else {
			at = lazy_queue_min(&s->queue);
			item_table_remove(&s->table, s->of, at);
		}
		s->of[at] = (struct hot_counter){.item = item, .error = s->queue.counts[at]};
		item_table_add(&s->table, s->of, at);
	}
	s->queue.counts[at] += weight;
	return 0;
}

uint64_t space_saving_min(struct space_saving *s)
{
	return s->n < s->queue.n ? 0 : s->queue.counts[lazy_queue_min(&s->queue)];
}

struct hot_counter space_saving_counter(const struct space_saving *s, size_t i)
{
	struct hot_counter c = s->of[i];

	c.count = s->queue.counts[i];
	return c;
}
