/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers stacks of lines (locations.h) in a table: a row is a line and the number of the stack
 * outside it, so stacks share their outer parts.
 */
#ifndef PCCE_PROFILE_STACK_TABLE_H
#define PCCE_PROFILE_STACK_TABLE_H

#include "base/hash_table.h"
#include "profile/location_stacks.h"

#define STACK_TABLE_NONE UINT32_MAX

HASH_TABLE_TYPE(stack_row_table, uint32_t);

struct stack_table {
	struct stack_row {
		uint32_t prefix; /* the stack without its innermost line; STACK_TABLE_NONE: empty */
		uint32_t line;	 /* index into the lines of the locations */
	} * list;
	size_t n;
	struct stack_row_table by_content; /* rows, index + 1 */
	uint32_t *outer; /* by node: the stack without its innermost location, + 2, so that
			    STACK_TABLE_NONE becomes 1; 0: not known yet */
	struct locations *locations;
	struct unrolled_path stacks;
};

/* 0 or -ENOMEM. */
int stack_table_new(const struct profile *p, struct locations *l, struct stack_table *t);
void stack_table_free(struct stack_table *t);

/* Sets *stack to the stack of a context that ends at place in node, or to STACK_TABLE_NONE if that
 * is empty. 0 or -ENOMEM. */
int stack_table_get(struct stack_table *t, uint32_t node, struct tree_place place, uint32_t *stack);

#endif
