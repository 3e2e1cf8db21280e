/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See id_map.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/id_map.h"

static uint64_t hash(const uint64_t *words)
{
	uint64_t h = 0;

	for (int i = 0; i < NUMBERS_WORDS; i++) {
		h = (h ^ words[i]) * 0xff51afd7ed558ccdULL;
		h ^= h >> 31;
	}
	return h;
}

static int rehash(struct numbers *t)
{
	size_t want = t->n_slots ? t->n_slots * 2 : 256;
	struct numbers_entry *more = calloc(want, sizeof(*more));

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

struct numbers_entry *numbers_find(struct numbers *t, const uint64_t *words)
{
	size_t at;

	if (t->n * 4 >= t->n_slots * 3 && rehash(t))
		return NULL;
	for (at = hash(words) & (t->n_slots - 1); t->slots[at].number; at = (at + 1) & (t->n_slots - 1))
		if (!memcmp(t->slots[at].words, words, sizeof(t->slots[at].words)))
			break;
	return &t->slots[at];
}

void numbers_fill(struct numbers *t, struct numbers_entry *e, const uint64_t *words, uint32_t number)
{
	memcpy(e->words, words, sizeof(e->words));
	e->number = number + 1;
	t->n++;
}

void numbers_free(struct numbers *t)
{
	free(t->slots);
	*t = (struct numbers){0};
}

int numbers_grow(void *array, size_t n, size_t size)
{
	void **p = array, *more;

	if (n & (n - 1) || (n && n < 64))
		return 0;
	more = reallocarray(*p, n ? n * 2 : 64, size);
	if (!more)
		return -ENOMEM;
	*p = more;
	return 0;
}

int numbers_compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}
