/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See id_map.h. */
#include <string.h>
#include "base/id_map.h"

static uint64_t hash_words(const uint64_t *words)
{
	uint64_t h = 0;

	for (int i = 0; i < ID_MAP_WORDS; i++) {
		h = (h ^ words[i]) * 0xff51afd7ed558ccdULL;
		h ^= h >> 31;
	}
	return h;
}

HASH_TABLE_FUNCTIONS(id_map_table, struct id_map_entry, uint64_t, void, s->number,
		     hash_words(s->words), !memcmp(s->words, key, sizeof(s->words)));

struct id_map_entry *id_map_find(struct id_map *t, const uint64_t *words)
{
	return id_map_table_slot(&t->table, NULL, hash_words(words), words);
}

void id_map_fill(struct id_map *t, struct id_map_entry *e, const uint64_t *words, uint32_t number)
{
	struct id_map_entry filled = {.number = number + 1};

	memcpy(filled.words, words, sizeof(filled.words));
	id_map_table_fill(&t->table, e, filled);
}

void id_map_free(struct id_map *t)
{
	id_map_table_free(&t->table);
}
