/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The nodes on the way from the root to one node, and then to another: only where the two ways
 * differ is a tree of millions of nodes looked at.  Fast where nodes come in their order, since
 * those stand close to one another (cct_preorder()).
 */
#ifndef PCCE_TREE_CURSOR_H
#define PCCE_TREE_CURSOR_H

#include "tree/cct.h"

struct tree_cursor {
	const struct cct *tree;
	uint32_t *nodes; /* outermost first, without the root */
	size_t n, capacity;
	uint32_t *turned; /* the new ones, innermost first */
	size_t turned_capacity;
};

void tree_cursor_init(struct tree_cursor *w, const struct cct *t);
void tree_cursor_free(struct tree_cursor *w);

/* Goes to a node. *same: so many of the first nodes are those of the way before. 0 or -ENOMEM. */
int tree_cursor_to(struct tree_cursor *w, uint32_t node, size_t *same);

/* A list of numbers gets room for n. 0 or -ENOMEM. */
int tree_cursor_reserve(uint32_t **list, size_t *capacity, size_t n);

#endif
