/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shows a tree as rows that can be opened and closed, with a current row. It is a tree of callers
 * (callees is NULL) or of callees. */
#ifndef PCCE_VIEW_TREE_H
#define PCCE_VIEW_TREE_H

#include "tree/bottom_up.h"
#include "view/list.h"
#include "view/share.h"

struct view_row {
	uint32_t node; /* for a row of hidden children: their parent */
	uint32_t column;
	size_t hidden; /* > 0: the row represents this number of children that are too light */
	bool branch;   /* a line is drawn to it */
	bool last;     /* the last of its siblings */
};

struct view_tree {
	const struct cct *tree;
	struct bottom_up *callees;
	uint64_t least;	  /* lighter children are hidden initially */
	uint8_t *flags;	  /* by node */
	uint32_t *row_of; /* by node: its row, if it has one */
	size_t capacity;
	struct view_row *rows;
	size_t rows_capacity;
	struct view_list list;
};

/* Opens the heavy branches. The caller keeps tree and callees alive. This and the functions below
 * return 0 or -ENOMEM. */
int view_tree_begin(struct view_tree *v, const struct cct *tree, struct bottom_up *callees,
		    uint64_t least);
int view_tree_toggle(struct view_tree *v);     /* open or close the current row */
int view_tree_open(struct view_tree *v);       /* open it, or go to its first child if it is open */
int view_tree_close(struct view_tree *v);      /* close it, or go to its parent if it is closed */
int view_tree_open_below(struct view_tree *v); /* open it and all heavy rows below it */
int view_tree_open_all(struct view_tree *v);
int view_tree_close_all(struct view_tree *v);
/* Opens all rows above a node, and goes to the node. */
int view_tree_reveal(struct view_tree *v, uint32_t node);
/* Goes to the next match after the current node, or (backward) to the last one before it. Sets
 * *found. */
int view_tree_search(struct view_tree *v, const struct view_share *s, bool backward, bool *found);
void view_tree_free(struct view_tree *v);

/* Opens and closes rows as in another tree, and goes to the same row. The other tree has the same
 * names. */
int view_tree_follow(struct view_tree *v, const struct view_tree *as);

/* Returns the node of the current row, or 0 if it has none. */
uint32_t view_tree_current(const struct view_tree *v);
void view_tree_draw(struct view_tree *v, const struct view_share *s, int top, int height);

#endif
