/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See stack_table.h. */
#include <errno.h>
#include <stdlib.h>
#include "tools/lib/stack_table.h"

int stack_table_new(const struct profile *p, struct locations *l, struct stack_table *t)
{
	*t = (struct stack_table){.outer = calloc(p->tree.n, sizeof(*t->outer))};
	stacks_init(&t->stacks, p, l);
	return t->outer ? 0 : -ENOMEM;
}

void stack_table_free(struct stack_table *t)
{
	numbers_free(&t->rows);
	stacks_free(&t->stacks);
	free(t->list);
	free(t->outer);
	*t = (struct stack_table){0};
}

static int add_row(struct stack_table *t, uint32_t prefix, uint32_t line, uint32_t *stack)
{
	uint64_t words[NUMBERS_WORDS] = {(uint64_t)prefix << 32 | line};
	struct numbers_entry *e = numbers_find(&t->rows, words);

	if (!e)
		return -ENOMEM;
	if (e->number) {
		*stack = e->number - 1;
		return 0;
	}
	if (numbers_grow(&t->list, t->n, sizeof(*t->list)))
		return -ENOMEM;
	t->list[t->n] = (struct stack_row){prefix, line};
	numbers_fill(&t->rows, e, words, t->n);
	*stack = t->n++;
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

int stack_table_get(struct stack_table *t, uint32_t node, struct place place, uint32_t *stack)
{
	uint32_t leaf;

	*stack = STACK_NONE;
	if (!node)
		return 0;
	if (t->outer[node]) {
		*stack = t->outer[node] - 2;
	} else {
		if (stacks_get(&t->stacks, node, place))
			return -ENOMEM;
		for (size_t i = 0; i + 1 < t->stacks.n; i++)
			if (add_location(t, t->stacks.frames[i], stack))
				return -ENOMEM;
		t->outer[node] = *stack + 2; /* STACK_NONE becomes 1 */
	}
	leaf = locations_leaf(t->stacks.locations, node, place);
	return leaf == LOCATION_NONE ? -ENOMEM : add_location(t, leaf, stack);
}
