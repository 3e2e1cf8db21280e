// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Decides which counters are used again: Lossy Counting (Manku, Motwani), the engine lossy of
 * pcce-record --count. All else is shared with Space Saving: see hot.c.
 *
 * The calls of a thread are divided into buckets of 1 / epsilon calls. A new context always gets a
 * counter. At the end of bucket b, the counters of contexts that have at most b calls are freed.
 * So what a context may have had before it got its counter, its error, is at most b, which is at
 * most epsilon N. The original algorithm takes b itself. Here it is the most that any context had
 * whose counter was freed, which is often less. So all counts are exact until the first counter of
 * a called context is freed.
 *
 * At most about log(epsilon N) / epsilon counters are in use. If there is no memory for one more,
 * the call is counted as lost. It is then in no bucket and in no bound, as with all engines.
 *
 * A freed counter keeps its count, which becomes `others` when it is used again. So no call is ever
 * missing in the sum of all counters, wherever a handler leaves this code with a jump.
 */
#include "count/engine.h"

static uint64_t most_calls(const struct pcce_count_hot_counter *c)
{
	return c->counter.count - c->others + c->error;
}

static void free_counter(struct thread *t, struct pcce_count_hot_counter *c)
{
	struct hot *h = t->hot;
	uint64_t most = most_calls(c);

	if (!h)
		return; /* a handler has forked, and this is the child */
	remove_from_index(t->counters, c, COUNTERS);
	__atomic_store_n(&c->counter.place, 0, __ATOMIC_RELAXED);
	if (most > h->removed)
		h->removed = most;
	release_node(t, unit(c->counter.node));
	c->counter.node = h->free_counters;
	h->free_counters = unit_number(c);
}

/* In the child of a handler that forks, changes is 0: the counters are the parent's. */
static int may_change(const struct thread *t)
{
	return __atomic_load_n(&t->changes, __ATOMIC_RELAXED) != 0;
}

static void free_cold(struct thread *t, struct pcce_count_block *b, uint64_t bucket)
{
	struct pcce_count_hot_counter *c = (struct pcce_count_hot_counter *)b;
	uint32_t n = PCCE_COUNT_BLOCK / sizeof(*c) - 1;

	/* Those that were never given out have no place. The first one is the block's head. */
	for (uint32_t i = 1; i <= n && may_change(t); i++)
		if (c[i].counter.place && most_calls(&c[i]) <= bucket)
			free_counter(t, &c[i]);
}

void begin_bucket(struct thread *t)
{
	struct pcce_count_block *b = t->counter_block;
	struct hot *h = t->hot;
	uint64_t bucket = h ? ++h->buckets : 0;

	while (b && may_change(t)) {
		free_cold(t, b, bucket);
		b = b->before ? unit(b->before) : NULL;
	}
	t->left = (uint32_t)config.counters;
}

struct pcce_count_hot_counter *take_lossy_counter(struct thread *t)
{
	struct pcce_count_hot_counter *c;
	struct hot *h = t->hot;

	if (!h || !h->capacity)
		return NULL; /* the same as above */
	if (!h->free_counters) {
		c = new_unit(t, &t->counter_block, PCCE_COUNT_HOT_COUNTERS);
		if (c)
			c->error = h->removed;
		return c;
	}
	c = unit(h->free_counters);
	h->free_counters = c->counter.node;
	c->error = h->removed;
	/* In this order, it never seems as if the context before had had fewer calls. */
	__asm__ volatile("" ::: "memory");
	c->others = c->counter.count;
	return c;
}
