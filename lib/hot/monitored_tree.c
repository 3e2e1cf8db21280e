/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the monitored calling context tree. */
#include <errno.h>
#include <stdlib.h>
#include "hot/monitored_tree.h"
#include "hot/parameters.h"

int monitored_tree_init(struct monitored_tree *t, double epsilon)
{
	size_t n = hot_counters(epsilon);

	*t = (struct monitored_tree){.n = 1, .capacity = 64, .live = 1};
	if (!n)
		return -ENOMEM;
	t->nodes = calloc(t->capacity, sizeof(*t->nodes));
	t->of = calloc(n, sizeof(*t->of));
	if (t->nodes && t->of && !lazy_queue_init(&t->queue, n))
		return 0;
	monitored_tree_free(t);
	return -ENOMEM;
}

void monitored_tree_free(struct monitored_tree *t)
{
	free(t->nodes);
	free(t->of);
	lazy_queue_free(&t->queue);
	*t = (struct monitored_tree){0};
}

/* Returns a new node, 0: no memory. */
static uint32_t take_node(struct monitored_tree *t)
{
	uint32_t node = t->removed;

	if (node) {
		t->removed = t->nodes[node].parent;
	} else {
		if (t->n == t->capacity) {
			struct monitored_node *more;

			if (t->n > UINT32_MAX / 2)
				return 0;
			more = reallocarray(t->nodes, 2 * t->capacity, sizeof(*more));
			if (!more)
				return 0;
			t->nodes = more;
			t->capacity *= 2;
		}
		node = t->n++;
	}
	t->live++;
	return node;
}

int monitored_tree_go(struct monitored_tree *t, uint64_t key)
{
	uint32_t node = t->nodes[t->cursor].child;

	while (node && t->nodes[node].key != key)
		node = t->nodes[node].next;
	if (!node) {
		uint32_t next = t->nodes[t->cursor].child;

		node = take_node(t);
		if (!node)
			return -ENOMEM;
		t->nodes[node] =
			(struct monitored_node){.key = key, .parent = t->cursor, .next = next};
		t->nodes[t->cursor].child = node;
		if (next)
			t->nodes[next].previous = node;
	}
	t->cursor = node;
	return 0;
}

/* Removes a node and its callers, as long as they are leaves that nobody needs. */
static void prune_upwards(struct monitored_tree *t, uint32_t at)
{
	while (at && at != t->cursor && !t->nodes[at].child && !t->nodes[at].counter) {
		struct monitored_node *n = &t->nodes[at];
		uint32_t parent = n->parent;

		if (n->previous)
			t->nodes[n->previous].next = n->next;
		else
			t->nodes[parent].child = n->next;
		if (n->next)
			t->nodes[n->next].previous = n->previous;
		n->parent = t->removed;
		t->removed = at;
		t->live--;
		at = parent;
	}
}

void monitored_tree_leave(struct monitored_tree *t)
{
	uint32_t from = t->cursor;

	t->cursor = t->nodes[from].parent;
	if (from)
		prune_upwards(t, from);
}

/* Gives the node at the cursor a counter. */
static void monitor_cursor(struct monitored_tree *t)
{
	uint32_t victim = 0;
	size_t at;

	if (t->n_counters < t->queue.n) {
		at = t->n_counters++;
	} else {
		at = lazy_queue_min(&t->queue);
		victim = t->of[at].node;
		t->nodes[victim].counter = 0;
	}
	t->of[at] = (struct monitored_counter){t->cursor, t->queue.counts[at]};
	t->nodes[t->cursor].counter = at + 1;
	if (victim)
		prune_upwards(t, victim);
}

int monitored_tree_count(struct monitored_tree *t, uint64_t weight)
{
	if (!t->cursor || !weight)
		return 0;
	if (__builtin_add_overflow(t->total, weight, &t->total)) {
		t->total -= weight;
		return -EOVERFLOW;
	}
	if (!t->nodes[t->cursor].counter)
		monitor_cursor(t);
	t->queue.counts[t->nodes[t->cursor].counter - 1] += weight;
	return 0;
}

uint64_t monitored_tree_low(const struct monitored_tree *t, uint32_t node)
{
	uint32_t counter = t->nodes[node].counter;

	return counter ? t->queue.counts[counter - 1] - t->of[counter - 1].error : 0;
}

uint64_t monitored_tree_high(struct monitored_tree *t, uint32_t node)
{
	uint32_t counter = t->nodes[node].counter;

	if (counter)
		return t->queue.counts[counter - 1];
	return t->n_counters < t->queue.n ? 0 : t->queue.counts[lazy_queue_min(&t->queue)];
}

uint8_t *monitored_tree_mark(const struct monitored_tree *t, double phi)
{
	uint8_t *marks = calloc(t->n, sizeof(*marks));
	uint64_t least = hot_threshold(phi, t->total);

	for (size_t i = 0; i < t->n_counters && marks; i++) {
		uint32_t node = t->of[i].node;

		if (t->queue.counts[i] < least)
			continue;
		marks[node] = MONITORED_HOT;
		for (node = t->nodes[node].parent; !marks[node]; node = t->nodes[node].parent) {
			marks[node] = MONITORED_COLD;
			if (!node)
				break;
		}
	}
	return marks;
}
