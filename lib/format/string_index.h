/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Strings of the names, numbered as a file uses them: 0 is the empty one, which every such table begins with. */
#ifndef PCCE_FORMAT_STRING_INDEX_H
#define PCCE_FORMAT_STRING_INDEX_H

#include <stddef.h>
#include <stdint.h>

struct used_strings {
	uint32_t *number; /* of strings of the names; 0: not used yet */
	size_t capacity;
	uint32_t *list; /* strings of the names, by number, from 1 to n */
	size_t n, list_capacity;
};

/* The number of a string of the names; -1: no memory. */
int64_t used_strings_number(struct used_strings *u, uint32_t string);
void used_strings_free(struct used_strings *u);

#endif
