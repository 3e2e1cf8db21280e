/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Searches call counts, and frees them: see call_counts.h. */
#include <stdlib.h>
#include <string.h>
#include "encode/call_counts.h"

int call_target_compare(const void *pa, const void *pb)
{
	const struct call_target *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->callee < b->callee ? -1 : a->callee > b->callee;
}

const struct call_target *call_target_find(const struct call_target *all, size_t n, uint64_t key)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (all[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return all + low;
}

void call_counts_free(struct call_counts *c)
{
	free(c->all);
	free(c->targets);
	free(c->tails);
	memset(c, 0, sizeof(*c));
}
