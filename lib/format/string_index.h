/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Numbers strings of the symbol table in the order in which a file uses them. Two arrays map
 * strings to numbers and back. 0 is the empty string, with which each string table begins. */
#ifndef PCCE_FORMAT_STRING_INDEX_H
#define PCCE_FORMAT_STRING_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct string_index {
	uint32_t *number; /* by string of the symbol table; 0: not used yet */
	size_t capacity;
	uint32_t *list; /* strings of the symbol table by number, from 1 to n */
	size_t n, list_capacity;
};

/* Returns the number of a string, and assigns one if it has none. -1: no memory. */
int64_t string_index_number(struct string_index *u, uint32_t string);
void string_index_free(struct string_index *u);

#endif
