/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements Lossy Counting. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "hot/lossy_counting.h"
#include "hot/parameters.h"

int lossy_counting_init(struct lossy_counting *l, double epsilon)
{
	*l = (struct lossy_counting){.period = hot_counters(epsilon), .epsilon = epsilon};
	return l->period ? item_table_init(&l->table, 0) : -ENOMEM;
}

void lossy_counting_free(struct lossy_counting *l)
{
	free(l->of);
	item_table_free(&l->table);
	*l = (struct lossy_counting){0};
}

/* Removes the counters of items that have at most epsilon N. */
static void remove_cold(struct lossy_counting *l)
{
	uint64_t most = floorl((long double)l->epsilon * l->total);
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->of[i].count + l->of[i].error > most)
			l->of[n++] = l->of[i];
	l->n = n;
	l->fresh = 0;
	l->pruned = most;
	item_table_refill(&l->table, l->of, n);
}

/* Makes room for one more counter. 0 or -ENOMEM. */
static int reserve_counter(struct lossy_counting *l)
{
	size_t want = l->capacity ? 2 * l->capacity : 64;
	struct hot_counter *more;
	struct item_table table;

	if (l->n < l->capacity)
		return 0;
	if (item_table_init(&table, want))
		return -ENOMEM;
	more = reallocarray(l->of, want, sizeof(*more));
	if (!more) {
		item_table_free(&table);
		return -ENOMEM;
	}
	l->of = more;
	l->capacity = want;
	item_table_free(&l->table);
	l->table = table;
	item_table_refill(&l->table, l->of, l->n);
	return 0;
}

int lossy_counting_add(struct lossy_counting *l, uint64_t item, uint64_t weight)
{
	uint32_t at = item_table_find(&l->table, l->of, item);

	if (l->total + weight < weight)
		return -EOVERFLOW;
	if (!weight)
		return 0;
	if (at == UINT32_MAX) {
		if (l->fresh == l->period)
			remove_cold(l);
		if (reserve_counter(l))
			return -ENOMEM;
		at = l->n++;
		l->fresh++;
		l->of[at] = (struct hot_counter){.item = item, .error = l->pruned};
		item_table_add(&l->table, l->of, at);
	}
	l->of[at].count += weight;
	l->total += weight;
	return 0;
}
