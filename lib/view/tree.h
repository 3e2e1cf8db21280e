/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A tree that can be folded, with a current row: of callers (callees NULL) or of callees. */
#ifndef PCCE_VIEW_TREE_H
#define PCCE_VIEW_TREE_H

#include "tree/bottom_up.h"
#include "view/list.h"
#include "view/share.h"

struct view_row {
	uint32_t node; /* of a row for hidden children: their parent */
	uint32_t column;
	size_t hidden; /* > 0: stands for so many children that are too light to be shown */
	bool branch;   /* a line leads to it */
	bool last;     /* of its siblings */
};

struct view_tree {
	const struct cct *tree;
	struct bottom_up *callees;
	uint64_t least;	  /* children lighter than that are hidden at first */
	uint8_t *flags;	  /* of each node */
	uint32_t *row_of; /* of each node that has a row */
	size_t capacity;
	struct view_row *rows;
	size_t rows_capacity;
	struct view_list list;
};

/* The tree, or callees, must stay. Heavy branches are open. All these: 0 or -ENOMEM. */
int view_tree_begin(struct view_tree *v, const struct cct *tree, struct bottom_up *callees,
		    uint64_t least);
int view_tree_toggle(struct view_tree *v);     /* the current row */
int view_tree_open(struct view_tree *v);       /* it, or go to its first child if it is open */
int view_tree_close(struct view_tree *v);      /* it, or go to its parent if it is closed */
int view_tree_open_below(struct view_tree *v); /* it, and all that is not light below it */
int view_tree_open_all(struct view_tree *v);
int view_tree_close_all(struct view_tree *v);
/* Opens what is above a node, and goes there. */
int view_tree_reveal(struct view_tree *v, uint32_t node);
/* Goes to the next (or, backward, the last) node before or after the current one whose name is
 * found. *found. */
int view_tree_search(struct view_tree *v, const struct view_share *s, bool backward, bool *found);
void view_tree_free(struct view_tree *v);

/* The node of the current row, 0 if that is none. */
uint32_t view_tree_current(const struct view_tree *v);
void view_tree_draw(struct view_tree *v, const struct view_share *s, int top, int height);

#endif
