/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Strings of the names, numbered as a file uses them: 0 is the empty one, which every such table
 * begins with. */
#ifndef PCCE_FORMAT_STRING_INDEX_H
#define PCCE_FORMAT_STRING_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct string_index {
	uint32_t *number; /* of strings of the names; 0: not used yet */
	size_t capacity;
	uint32_t *list; /* strings of the names, by number, from 1 to n */
	size_t n, list_capacity;
};

/* The number of a string of the names; -1: no memory. */
int64_t string_index_number(struct string_index *u, uint32_t string);
void string_index_free(struct string_index *u);

#endif
