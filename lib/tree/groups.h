/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tells which nodes of a tree are in a group that repeats (struct cct_key). */
#ifndef PCCE_TREE_GROUPS_H
#define PCCE_TREE_GROUPS_H

#include "tree/cct.h"

struct tree_group {
	uint32_t head; /* the outermost node of the group, which has the number of repetitions; 0:
			  the node is in no group */
	uint32_t left; /* nodes of the group below this one */
};

/* Returns an array with an element for each node. The caller frees it. NULL: no memory. */
struct tree_group *tree_groups(const struct cct *t);

#endif
