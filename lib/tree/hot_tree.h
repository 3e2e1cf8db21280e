/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prunes a calling context tree to its hot contexts and their callers: the HCCT of D'Elia,
 * Demetrescu and Finocchi. A context is hot if its weight is at least phi N, rounded down. N is the
 * sum of all weights.
 *
 * A recording may be a summary itself, so that weights lack something. Then a context is hot if it
 * may have phi N: no hot context is missing. Its own weight lacks at most its error. A total weight
 * lacks at most what the recording did not keep, `unkept`.
 *
 * A node [cold] below each node that remains represents everything that was removed below it. So
 * all totals, and N, stay as they are.
 */
#ifndef PCCE_TREE_HOT_TREE_H
#define PCCE_TREE_HOT_TREE_H

#include "tree/cct.h"
#include "api/frame_names.h"

/* Also the name of what a summary did not keep, so that both are one node. */
#define HOT_TREE_COLD FRAME_NAMES_UNKEPT

/* What was found. */
struct hot_tree_summary {
	double phi;	   /* 0: the tree is not pruned */
	double epsilon;	   /* of the recording; 0: its counts are exact */
	uint64_t unkept;   /* weight that the recording attributes to no context */
	bool by_total;	   /* the weight of a context includes what it calls */
	uint64_t n, least; /* N and phi N */
	uint64_t hot;	   /* weight of all hot contexts; of their own weights only */
	size_t hot_nodes, callers, removed; /* nodes: hot ones, kept callers, removed ones */
	uint32_t cold_name;		    /* string of HOT_TREE_COLD */
};

/*
 * Makes the pruned tree of a tree with weights but without totals. The caller has set phi,
 * by_total, epsilon and unkept of the summary. *map: from old nodes to new ones; the caller frees
 * it. 0 or -ENOMEM.
 */
int hot_tree_new(const struct cct *from, struct symbol_table *names, struct cct *to, uint32_t **map,
		 struct hot_tree_summary *summary);

/* The most weight that may be missing from a context's own weight. [cold] is no context. */
static inline uint64_t hot_tree_error(const struct hot_tree_summary *s, const struct cct_node *n)
{
	if (n->key->name == s->cold_name)
		return 0;
	return n->error < s->unkept ? n->error : s->unkept;
}

/* Whether a node of the pruned tree, which has totals now, is hot. */
static inline bool hot_tree_is_hot(const struct hot_tree_summary *s, const struct cct_node *n)
{
	return s->phi > 0 && n->key->name != s->cold_name &&
	       (s->by_total ? n->total + s->unkept : n->self + hot_tree_error(s, n)) >= s->least;
}

#endif
