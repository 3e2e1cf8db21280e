/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Numbers for things that a few words tell apart: a hash table from the words to the number. */
#ifndef PCCE_BASE_ID_MAP_H
#define PCCE_BASE_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

#define ID_MAP_WORDS 4

struct id_map_entry {
	uint64_t words[ID_MAP_WORDS];
	uint32_t number; /* + 1; 0: free */
};

struct id_map {
	struct id_map_entry *slots;
	size_t n, n_slots;
};

/* The entry of these ID_MAP_WORDS words: with a number, or, if they are new, without one, for
 * id_map_fill() before the next look. NULL: no memory. */
struct id_map_entry *id_map_find(struct id_map *t, const uint64_t *words);
void id_map_fill(struct id_map *t, struct id_map_entry *e, const uint64_t *words, uint32_t number);
void id_map_free(struct id_map *t);

#endif
