/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Applies a selection to contexts and frames: derives the shown tree from the tree of all contexts.
 */
#ifndef PCCE_TREE_SELECT_TREE_H
#define PCCE_TREE_SELECT_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include "tree/cct.h"
#include "symbols/symbol_table.h"
#include "tree/selection.h"

/* A line in the innermost function of a context, with its samples. */
struct tree_leaf {
	uint32_t base; /* its node in the tree of all contexts */
	uint32_t node; /* its node in the shown tree; UINT32_MAX: none */
	uint32_t file, line;
	uint64_t weight, samples, error; /* of the selected samples */
	uint64_t cost;			 /* see struct cct_node */
};

static inline bool tree_leaf_is_selected(const struct tree_leaf *l)
{
	return l->samples || l->cost;
}

/* Sets keep[i] != 0 for the nodes of `all` in which a selected context ends. 0 or -ENOMEM. */
int select_contexts(const struct cct *all, const struct symbol_table *names,
		    const struct selection *s, uint8_t *keep);

/*
 * Makes the tree of the contexts of all leaves with samples or costs, and sets the node of each
 * leaf. `all` has no weights. The new tree has the weights of the leaves. cct_finish() must compute
 * its totals and order. 0 or -ENOMEM.
 */
int select_tree(const struct cct *all, struct symbol_table *names, const struct selection *s,
		struct tree_leaf *leaves, size_t n_leaves, struct cct *to);

#endif
