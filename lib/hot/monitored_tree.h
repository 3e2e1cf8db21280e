/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps the hot part of a calling context tree in small space: the monitored calling context tree
 * of D'Elia, Demetrescu and Finocchi (MCCT), with Space Saving. It has a node for each monitored
 * context and for each of its callers. A context is a path of keys. A cursor points to the current
 * context, so a count needs no search for its counter.
 *
 * A count for a context that is not monitored takes over the smallest counter. The node that had
 * this counter is removed if it is a leaf. Its callers are removed, too, as long as they are leaves
 * without counters (Algorithm 1). A context that is on the way to the cursor stays.
 *
 * Nodes link to the parent, the first child and both neighbours. Removed nodes are used again.
 */
#ifndef PCCE_HOT_MONITORED_TREE_H
#define PCCE_HOT_MONITORED_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hot/lazy_queue.h"

struct monitored_node {
	uint64_t key;
	uint32_t parent;		/* of a removed node: the next removed one */
	uint32_t child, next, previous; /* 0: none */
	uint32_t counter;		/* index + 1; 0: not monitored */
};

struct monitored_counter {
	uint32_t node;
	uint64_t error;
};

struct monitored_tree {
	struct monitored_node *nodes; /* node 0 is the root, which is no context */
	size_t n, capacity;	      /* nodes that were ever in use at once; room */
	size_t live;		      /* nodes in use now, with the root */
	uint32_t removed;	      /* the first removed node; 0: none */
	uint32_t cursor;
	struct lazy_queue queue;      /* counts */
	struct monitored_counter *of; /* n_counters of them are in use */
	size_t n_counters;
	uint64_t total; /* N */
};

/* 0, or -ENOMEM: there is no memory for 1 / epsilon counters. */
int monitored_tree_init(struct monitored_tree *t, double epsilon);
void monitored_tree_free(struct monitored_tree *t);

/* Moves the cursor to the child with this key. 0 or -ENOMEM. */
int monitored_tree_go(struct monitored_tree *t, uint64_t key);
/* Moves the cursor to its parent, unless it is at the root. */
void monitored_tree_leave(struct monitored_tree *t);
/* Counts the context at the cursor. 0, or -EOVERFLOW: N would not fit into 64 bits; nothing has
 * changed then. The root is not counted. */
int monitored_tree_count(struct monitored_tree *t, uint64_t weight);

/* Bounds of a node's true count. A node without a counter has at most what the smallest counter
 * has. */
uint64_t monitored_tree_low(const struct monitored_tree *t, uint32_t node);
uint64_t monitored_tree_high(struct monitored_tree *t, uint32_t node);

/*
 * Finds the (phi, epsilon)-HCCT: the nodes that may be hot, and their callers. The caller frees the
 * array, which has an element for each of the first t->n nodes. NULL: no memory.
 */
enum monitored_mark { MONITORED_NOT, MONITORED_COLD, MONITORED_HOT };
uint8_t *monitored_tree_mark(const struct monitored_tree *t, double phi);

#endif
