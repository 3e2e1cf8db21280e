/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See stack_table.h. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "profile/stack_table.h"

static uint64_t hash_stack_row(const struct stack_row *row)
{
	uint64_t h = ((uint64_t)row->prefix << 32 | row->line) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 20;
}

HASH_TABLE_FUNCTIONS(stack_row_table, uint32_t, struct stack_row, struct stack_table, *s,
		     hash_stack_row(&o->list[*s - 1]),
		     o->list[*s - 1].prefix == key->prefix && o->list[*s - 1].line == key->line);

int stack_table_new(const struct profile *p, struct locations *l, struct stack_table *t)
{
	*t = (struct stack_table){.locations = l, .outer = calloc(p->tree.n, sizeof(*t->outer))};
	location_stacks_init(&t->stacks, p, l);
	return t->outer ? 0 : -ENOMEM;
}

void stack_table_free(struct stack_table *t)
{
	stack_row_table_free(&t->by_content);
	unrolled_path_free(&t->stacks);
	free(t->list);
	free(t->outer);
	*t = (struct stack_table){0};
}

/* Finds or adds the stack of a line under a prefix. 0 or -ENOMEM. */
static int intern_row(struct stack_table *t, uint32_t prefix, uint32_t line, uint32_t *stack)
{
	struct stack_row row = {prefix, line};
	uint32_t *slot = stack_row_table_slot(&t->by_content, t, hash_stack_row(&row), &row);

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		if (array_grow(&t->list, t->n, sizeof(*t->list)))
			return -ENOMEM;
		t->list[t->n] = row;
		stack_row_table_fill(&t->by_content, slot, ++t->n);
	}
	*stack = *slot - 1;
	return 0;
}

/* Adds a location's lines, outermost first. */
static int add_lines_of(struct stack_table *t, uint32_t location, uint32_t *stack)
{
	const struct location *l = &t->locations->list[location];

	for (uint32_t i = l->n; i-- > 0;)
		if (intern_row(t, *stack, l->first + i, stack))
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
			if (add_lines_of(t, t->stacks.frames[i], stack))
				return -ENOMEM;
		t->outer[node] = *stack + 2; /* STACK_TABLE_NONE becomes 1 */
	}
	leaf = locations_leaf(t->locations, node, place);
	return leaf == LOCATION_NONE ? -ENOMEM : add_lines_of(t, leaf, stack);
}
