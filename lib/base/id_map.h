/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Numbers for things that a few words tell apart: a hash table from the words to the number. */
#ifndef PCCE_BASE_ID_MAP_H
#define PCCE_BASE_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#define NUMBERS_WORDS 4

struct numbers_entry {
	uint64_t words[NUMBERS_WORDS];
	uint32_t number; /* + 1; 0: free */
};

struct numbers {
	struct numbers_entry *slots;
	size_t n, n_slots;
};

/* The entry of these NUMBERS_WORDS words: with a number, or, if they are new, without one, for
 * numbers_fill() before the next look. NULL: no memory. */
struct numbers_entry *numbers_find(struct numbers *t, const uint64_t *words);
void numbers_fill(struct numbers *t, struct numbers_entry *e, const uint64_t *words, uint32_t number);
void numbers_free(struct numbers *t);

/* Makes room for one more of the n elements of an array (a pointer to its pointer): it doubles from 64. 0 or -ENOMEM.
 */
int numbers_grow(void *array, size_t n, size_t size);

/* For qsort(), of uint32_t. */
int numbers_compare(const void *a, const void *b);

#endif
