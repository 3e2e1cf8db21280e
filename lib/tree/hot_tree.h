/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prunes a calling context tree to its hot contexts and their callers: the HCCT of D'Elia,
 * Demetrescu and Finocchi. A context is hot if its weight is at least phi N, rounded down. N is the
 * sum of all weights.
 *
 * A node [cold] below each node that remains represents everything that was removed below it. So
 * all totals, and N, stay as they are.
 */
#ifndef PCCE_TREE_HOT_TREE_H
#define PCCE_TREE_HOT_TREE_H

#include "tree/cct.h"

#define HOT_TREE_COLD "[cold]"

/* What was found. */
struct hot_tree_summary {
	double phi;	   /* 0: the tree is not pruned */
	bool by_total;	   /* the weight of a context includes what it calls */
	uint64_t n, least; /* N and phi N */
	uint64_t hot;	   /* weight of all hot contexts; of their own weights only */
	size_t hot_nodes, callers, removed; /* nodes: hot ones, kept callers, removed ones */
	uint32_t cold_name;		    /* string of HOT_TREE_COLD */
};

/* Makes the pruned tree of a tree with weights but without totals. *map: from old nodes to new
 * ones; the caller frees it. 0 or -ENOMEM. */
int hot_tree_new(const struct cct *from, struct symbol_table *names, double phi, bool by_total,
		 struct cct *to, uint32_t **map, struct hot_tree_summary *summary);

/* Whether a node of the pruned tree, which has totals now, is hot. */
static inline bool hot_tree_is_hot(const struct hot_tree_summary *s, const struct cct_node *n)
{
	return s->phi > 0 && (s->by_total ? n->total : n->self) >= s->least &&
	       n->key->name != s->cold_name;
}

#endif
