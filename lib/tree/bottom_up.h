/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Builds the bottom-up tree (also: callee tree). Its top nodes are the functions in which samples
 * were taken. Below each node are the functions that called it. The tree comes from a tree of
 * contexts and grows only where the user looks. The whole tree would be as large as the sum of the
 * depths of all contexts.
 */
#ifndef PCCE_TREE_BOTTOM_UP_H
#define PCCE_TREE_BOTTOM_UP_H

#include <stdint.h>
#include "tree/cct.h"

struct bottom_up {
	const struct cct *from;
	struct cct tree; /* total: the weight of samples that were taken in the top function by this
			    path; self is unused. A frame's line is the line from which it calls the
			    frame above it. */
	struct bottom_up_paths *paths; /* by node */
	size_t n_paths;
	const struct symbol_table *names;
	struct cct_sort_order order;
	bool lines; /* the frames of `from` have their own lines */
};

/* Makes the top nodes. `from` must outlive the result. 0 or -ENOMEM. */
int bottom_up_begin(struct bottom_up *c, const struct cct *from, const struct symbol_table *names,
		    bool lines, const struct cct_sort_order *order);
/* Makes a node's children, unless they exist. 0 or -ENOMEM. */
int bottom_up_expand(struct bottom_up *c, uint32_t node);
/* Whether the node has children, or would have after bottom_up_expand(). */
bool bottom_up_has_children(const struct bottom_up *c, uint32_t node);
void bottom_up_free(struct bottom_up *c);

#endif
