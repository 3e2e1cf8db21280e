/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Maps keys of a few words to numbers: a hash table whose keys need no functions of their own. */
#ifndef PCCE_BASE_ID_MAP_H
#define PCCE_BASE_ID_MAP_H

#include <stdint.h>
#include "base/hash_table.h"

#define ID_MAP_WORDS 4

struct id_map_entry {
	uint64_t words[ID_MAP_WORDS];
	uint32_t number; /* the number + 1; 0: the key is new */
};

HASH_TABLE_TYPE(id_map_table, struct id_map_entry);

struct id_map { /* empty: all zeros */
	struct id_map_table table;
};

/* Returns the entry of a key of ID_MAP_WORDS words. If the key is new, the entry has no number:
 * id_map_fill() adds one before the next id_map_find(). NULL: no memory. */
struct id_map_entry *id_map_find(struct id_map *t, const uint64_t *words);
void id_map_fill(struct id_map *t, struct id_map_entry *e, const uint64_t *words, uint32_t number);
void id_map_free(struct id_map *t);

#endif
