/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See stack_table.h. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/huge_alloc.h"
#include "profile/stack_table.h"

int stack_table_new(const struct profile *p, struct locations *l, struct stack_table *t)
{
	*t = (struct stack_table){.outer = calloc(p->tree.n, sizeof(*t->outer))};
	location_stacks_init(&t->stacks, p, l);
	return t->outer ? 0 : -ENOMEM;
}

void stack_table_free(struct stack_table *t)
{
	free(t->slots);
	location_stacks_free(&t->stacks);
	free(t->list);
	free(t->outer);
	*t = (struct stack_table){0};
}

static uint64_t hash(const struct stack_row *row)
{
	uint64_t h = ((uint64_t)row->prefix << 32 | row->line) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 20;
}

static int rehash(struct stack_table *t)
{
	size_t want = t->n_slots ? t->n_slots * 2 : 1024;
	uint32_t *slots = huge_alloc(want, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++) {
		size_t at = hash(&t->list[i]) & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = i + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = want;
	return 0;
}

static int add_row(struct stack_table *t, uint32_t prefix, uint32_t line, uint32_t *stack)
{
	struct stack_row row = {prefix, line};
	size_t at;

	if (t->n * 4 >= t->n_slots * 3 && rehash(t))
		return -ENOMEM;
	for (at = hash(&row) & (t->n_slots - 1); t->slots[at]; at = (at + 1) & (t->n_slots - 1)) {
		const struct stack_row *known = &t->list[t->slots[at] - 1];

		if (known->prefix == prefix && known->line == line) {
			*stack = t->slots[at] - 1;
			return 0;
		}
	}
	if (array_grow(&t->list, t->n, sizeof(*t->list)))
		return -ENOMEM;
	t->list[t->n] = row;
	*stack = t->n++;
	t->slots[at] = t->n;
	return 0;
}

/* Adds a location's lines, outermost first. */
static int add_location(struct stack_table *t, uint32_t location, uint32_t *stack)
{
	const struct location *l = &t->stacks.locations->list[location];

	for (uint32_t i = l->n; i-- > 0;)
		if (add_row(t, *stack, l->first + i, stack))
			return -ENOMEM;
	return 0;
}

int stack_table_get(struct stack_table *t, uint32_t node, struct tree_place place, uint32_t *stack)
{
	uint32_t leaf;

	*stack = STACK_TABLE_NONE;
	if (!node)
		return 0;
	if (t->outer[node]) {
		*stack = t->outer[node] - 2;
	} else {
		if (location_stacks_get(&t->stacks, node, place))
			return -ENOMEM;
		for (size_t i = 0; i + 1 < t->stacks.n; i++)
			if (add_location(t, t->stacks.frames[i], stack))
				return -ENOMEM;
		t->outer[node] = *stack + 2; /* STACK_TABLE_NONE becomes 1 */
	}
	leaf = locations_leaf(t->stacks.locations, node, place);
	return leaf == LOCATION_NONE ? -ENOMEM : add_location(t, leaf, stack);
}
