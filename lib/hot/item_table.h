/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the counters of items in an array: a hash table of indices with open addressing and linear
 * probing. Unlike that of base/hash_table.h, its size is fixed.
 */
#ifndef PCCE_HOT_ITEM_TABLE_H
#define PCCE_HOT_ITEM_TABLE_H

#include <stddef.h>
#include <stdint.h>

/* A counter of an item: see misra_gries.h. */
struct hot_counter {
	uint64_t item, count, error;
};

struct item_table {
	uint32_t *slots; /* index + 1; 0: free */
	size_t n_slots;	 /* a power of two */
};

/* Makes a table for at most n elements. 0 or -ENOMEM. */
int item_table_init(struct item_table *t, size_t n);
void item_table_free(struct item_table *t);

/* Returns the index of the item's counter in `of`; UINT32_MAX: it has none. */
uint32_t item_table_find(const struct item_table *t, const struct hot_counter *of, uint64_t item);
/* Adds the counter with this index, whose item must be new. */
void item_table_add(struct item_table *t, const struct hot_counter *of, uint32_t index);
/* Empties the table and adds the first n counters. */
void item_table_refill(struct item_table *t, const struct hot_counter *of, size_t n);

#endif
