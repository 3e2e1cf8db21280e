/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See id_map.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/id_map.h"

static uint64_t hash(const uint64_t *words)
{
	uint64_t h = 0;

	for (int i = 0; i < ID_MAP_WORDS; i++) {
		h = (h ^ words[i]) * 0xff51afd7ed558ccdULL;
		h ^= h >> 31;
	}
	return h;
}

static int rehash(struct id_map *t)
{
	size_t want = t->n_slots ? t->n_slots * 2 : 256;
	struct id_map_entry *more = calloc(want, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_slots; i++) {
		size_t at = hash(t->slots[i].words) & (want - 1);

		if (!t->slots[i].number)
			continue;
		while (more[at].number)
			at = (at + 1) & (want - 1);
		more[at] = t->slots[i];
	}
	free(t->slots);
	t->slots = more;
	t->n_slots = want;
	return 0;
}

struct id_map_entry *id_map_find(struct id_map *t, const uint64_t *words)
{
	size_t at;

	if (t->n * 4 >= t->n_slots * 3 && rehash(t))
		return NULL;
	for (at = hash(words) & (t->n_slots - 1); t->slots[at].number;
	     at = (at + 1) & (t->n_slots - 1))
		if (!memcmp(t->slots[at].words, words, sizeof(t->slots[at].words)))
			break;
	return &t->slots[at];
}

void id_map_fill(struct id_map *t, struct id_map_entry *e, const uint64_t *words, uint32_t number)
{
	memcpy(e->words, words, sizeof(e->words));
	e->number = number + 1;
	t->n++;
}

void id_map_free(struct id_map *t)
{
	free(t->slots);
	*t = (struct id_map){0};
}
