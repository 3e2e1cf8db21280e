/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps the path from the root to a node, and moves it to other nodes. A move looks only at the
 * nodes in which the two paths differ. It is fast if nodes come in the order of cct_preorder(),
 * because near nodes are then near in memory.
 */
#ifndef PCCE_TREE_CURSOR_H
#define PCCE_TREE_CURSOR_H

#include "tree/cct.h"

struct tree_cursor {
	const struct cct *tree;
	uint32_t *nodes; /* outermost first, without the root */
	size_t n, capacity;
	uint32_t *turned; /* the new nodes of a move, innermost first */
	size_t turned_capacity;
};

void tree_cursor_init(struct tree_cursor *w, const struct cct *t);
void tree_cursor_free(struct tree_cursor *w);

/* Moves to a node. *same: number of first nodes that both paths share. 0 or -ENOMEM. */
int tree_cursor_to(struct tree_cursor *w, uint32_t node, size_t *same);

#endif
