/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Computes the flat profile: the self weight and the total weight of each function. A function that
 * is in a context several times counts only once there.
 */
#ifndef PCCE_TREE_FLAT_PROFILE_H
#define PCCE_TREE_FLAT_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include "tree/cct.h"

struct flat_profile_row {
	uint32_t module, name;
	uint32_t file, line;  /* only if there is a row for each line */
	uint32_t kind, flags; /* from struct cct_key of one of its frames */
	uint64_t self, total, samples;
	uint64_t cost, total_cost; /* as of struct cct_node */
	uint32_t active;	   /* how often it is on the current path of the walk */
};

struct flat_profile {
	struct flat_profile_row *rows;
	size_t n;
};

/* Builds the flat profile in the order of the tree. lines: a row for each line; then the tree's
 * frames must have their own lines. 0 or -ENOMEM. */
int flat_profile_build(const struct cct *t, bool lines, struct flat_profile *out);
void flat_profile_free(struct flat_profile *f);

/* Sorts rows by these keys. The default is self, then total. */
void flat_profile_sort(struct flat_profile *f, const struct symbol_table *names,
		       const struct cct_sort_order *order);

#endif
