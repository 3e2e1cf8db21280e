/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A selection applied to contexts and frames: from the tree of all contexts to that of those that
 * are shown. */
#ifndef PCCE_TREE_SELECT_TREE_H
#define PCCE_TREE_SELECT_TREE_H

#include <stdint.h>
#include "tree/cct.h"
#include "symbols/symbol_table.h"
#include "tree/selection.h"

/* The line at which samples were taken in the innermost function of a context. */
struct tree_leaf {
	uint32_t base; /* node in the tree of all contexts */
	uint32_t node; /* in the tree that is shown; UINT32_MAX: it is not */
	uint32_t file, line;
	uint64_t weight, samples; /* that are shown */
};

/* Marks the nodes of `all` in which a context ends that is selected: keep[i] != 0. 0 or -ENOMEM. */
int select_contexts(const struct cct *all, const struct symbol_table *names,
		    const struct selection *s, uint8_t *keep);

/*
 * Makes the tree of the contexts of those leaves that have samples, and says which node each is:
 * `all` has no weights, the new tree has the leaves'; its totals and order are cct_finish()'s work.
 * 0 or -ENOMEM.
 */
int select_tree(const struct cct *all, struct symbol_table *names, const struct selection *s,
		struct tree_leaf *leaves, size_t n_leaves, struct cct *to);

#endif
