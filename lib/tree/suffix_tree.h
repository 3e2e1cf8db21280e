/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shortens contexts to their innermost K frames: k-calling contexts. Contexts that end in equal
 * frames become one. Repeated groups are written out, as far as K goes.
 */
#ifndef PCCE_TREE_SUFFIX_TREE_H
#define PCCE_TREE_SUFFIX_TREE_H

#include "tree/cct.h"

#define SUFFIX_TREE_MOST 1000 /* frames */

/* Makes the new tree of a tree with weights but without totals. *map: from old nodes in which
 * samples were taken to new ones; the caller frees it. 0 or -ENOMEM. */
int suffix_tree_new(const struct cct *from, unsigned int frames, struct cct *to, uint32_t **map);

#endif
