/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Searches call counts, and frees them: see call_counts.h. */
#include <stdlib.h>
#include <string.h>
#include "base/sorted.h"
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
	return all + SORTED_COUNT(i, n, all[i].key < key);
}

void call_counts_free(struct call_counts *c)
{
	free(c->all);
	free(c->targets);
	free(c->tails);
	memset(c, 0, sizeof(*c));
}
