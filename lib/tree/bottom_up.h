/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The callee tree, or bottom-up tree: under each function in which samples were taken
 * the functions that called it, under those their callers, and so on.  Made from a
 * tree of contexts, and only as far as one looks into it: all of it would be as
 * large as the sum of all contexts' depths.
 */
#ifndef PCCE_TREE_BOTTOM_UP_H
#define PCCE_TREE_BOTTOM_UP_H

#include <stdint.h>
#include "tree/cct.h"

struct bottom_up {
	const struct cct *from;
	struct cct tree; /* totals: the weight of samples in the function at the top that came this
			  * way; no selfs. A frame's line is its own: where it calls the one above
			  * it in the tree. */
	struct bottom_up_paths *paths; /* one for each node */
	size_t n_paths;
	const struct symbol_table *names;
	struct cct_sort_order order;
	bool lines; /* from has frames with lines of their own */
};

/* The functions at the top; from must stay. 0 or -ENOMEM. */
int bottom_up_begin(struct bottom_up *c, const struct cct *from, const struct symbol_table *names,
		    bool lines, const struct cct_sort_order *order);
/* Makes a node's children, if that is still to be done. 0 or -ENOMEM. */
int bottom_up_expand(struct bottom_up *c, uint32_t node);
/* Would it have children? */
bool bottom_up_has_children(const struct bottom_up *c, uint32_t node);
void bottom_up_free(struct bottom_up *c);

#endif
