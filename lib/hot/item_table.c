/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the table of items. It is at most half full. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "hot/item_table.h"

int item_table_init(struct item_table *t, size_t n)
{
	size_t slots = 4;

	while (slots / 2 < n)
		slots *= 2;
	*t = (struct item_table){.slots = calloc(slots, sizeof(*t->slots)), .n_slots = slots};
	return t->slots ? 0 : -ENOMEM;
}

void item_table_free(struct item_table *t)
{
	free(t->slots);
	*t = (struct item_table){0};
}

/* Returns the slot of the item, or the free slot where it belongs. */
static size_t item_slot(const struct item_table *t, const struct hot_counter *of, uint64_t item)
{
	uint64_t h = item * 0x9e3779b97f4a7c15ULL;
	size_t at = ((h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 24) & (t->n_slots - 1);

	while (t->slots[at] && of[t->slots[at] - 1].item != item)
		at = (at + 1) & (t->n_slots - 1);
	return at;
}

uint32_t item_table_find(const struct item_table *t, const struct hot_counter *of, uint64_t item)
{
	return t->slots[item_slot(t, of, item)] - 1;
}

void item_table_add(struct item_table *t, const struct hot_counter *of, uint32_t index)
{
	t->slots[item_slot(t, of, of[index].item)] = index + 1;
}

void item_table_refill(struct item_table *t, const struct hot_counter *of, size_t n)
{
	memset(t->slots, 0, t->n_slots * sizeof(*t->slots));
	for (size_t i = 0; i < n; i++)
		item_table_add(t, of, i);
}
