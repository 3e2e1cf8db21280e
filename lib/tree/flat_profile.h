/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Functions, with what each used itself, and with all that it called.  A function that
 * is on a context more than once counts once there.
 */
#ifndef PCCE_TREE_FLAT_PROFILE_H
#define PCCE_TREE_FLAT_PROFILE_H

#include <stddef.h>
#include <stdint.h>
#include "tree/cct.h"

struct flat_profile_row {
	uint32_t module, name;
	uint32_t file, line;  /* only where lines were told apart */
	uint32_t kind, flags; /* as in struct cct_key: of one of its frames */
	uint64_t self, total, samples;
	uint32_t active; /* how often it is on the path that is being walked */
};

struct flat_profile {
	struct flat_profile_row *rows;
	size_t n;
};

/* lines: a row for each line; the tree's frames have lines of their own. Rows are in the order in
 * which the tree has them. 0 or -ENOMEM. */
int flat_profile_build(const struct cct *t, bool lines, struct flat_profile *out);
void flat_profile_free(struct flat_profile *f);

/* By these keys; without any: what it used itself, then the total. */
void flat_profile_sort(struct flat_profile *f, const struct symbol_table *names,
		       const struct cct_sort_order *order);

#endif
