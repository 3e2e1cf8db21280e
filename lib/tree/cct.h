/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps a calling context tree with weights. Node 0 is the root, "all". A child has a higher number
 * than its parent.
 */
#ifndef PCCE_TREE_CCT_H
#define PCCE_TREE_CCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/hash_table.h"
#include "decode/decode.h"
#include "symbols/symbol_table.h"

/* The key of a node among the children of its parent. Keys are compared as bytes, so there is no
 * padding before number. */
struct cct_key {
	uint64_t call;	 /* link-time address of the call in the parent's module; 0: unknown, or
			    inlined */
	uint32_t kind;	 /* enum decode_frame_kind */
	uint32_t flags;	 /* CCT_* */
	uint32_t module; /* UINT32_MAX: none */
	uint32_t func;	 /* into the module's table, or PCCE_NONE */
	uint32_t name;	 /* string of struct symbol_table */
	uint32_t file;	 /* file and line of the call in the parent, 0: unknown */
	uint32_t line;
	uint32_t repeat; /* this node and the span - 1 nodes below it, one child each, repeat this
			    number of further times */
	uint32_t span;
	uint32_t number; /* number of the key in its tree; set by the tree */
};

#define CCT_INLINED 1u /* inlined into its parent */
#define CCT_KERNEL 2u
#define CCT_RESTORED 4u /* not instrumented; its place is known by unwinding */

struct cct_node {
	const struct cct_key *key; /* shared by all nodes with an equal key */
	uint64_t self, total;	   /* weights */
	uint64_t samples;	   /* samples taken in this node */
	uint64_t error;		   /* most weight that may be missing from self (--hot) */
	/* If the samples are counted calls: the weight of the samples of other events. */
	uint64_t cost, total_cost;
	uint32_t parent;
	uint32_t child, next;		 /* 0: none; sorted by total weight after cct_finish() */
	uint32_t repeat_min, repeat_max; /* differ only in merged nodes */
};

struct cct_child {
	uint32_t parent, key; /* numbers of the parent and of the key */
	uint32_t node;	      /* 0: a free slot */
};

HASH_TABLE_TYPE(cct_children, struct cct_child);

struct cct {
	struct cct_node *nodes;
	size_t n, capacity;
	struct cct_children children; /* all nodes but the root; cct_settle() empties it */
	struct cct_keys *keys;
};

int cct_init(struct cct *t); /* 0 or -ENOMEM */
void cct_free(struct cct *t);

/* Finds or makes the child with this key; UINT32_MAX: no memory. */
uint32_t cct_child(struct cct *t, uint32_t parent, const struct cct_key *key);
/* Does the work of cct_child() in two steps, for keys that are used often. cct_intern() returns
 * NULL and cct_child_of() UINT32_MAX if there is no memory. */
const struct cct_key *cct_intern(struct cct *t, const struct cct_key *key);
uint32_t cct_child_of(struct cct *t, uint32_t parent, const struct cct_key *interned);
/* Prefetches the memory for a later call of cct_child_of() with these arguments. */
void cct_expect(const struct cct *t, uint32_t parent, const struct cct_key *interned);
/* Frees the memory that only cct_child() needs. */
void cct_settle(struct cct *t);
/* Returns the number of different keys. All key numbers are below it. */
uint32_t cct_key_count(const struct cct *t);
const struct cct_key *cct_key(const struct cct *t, uint32_t number);

/* Sort keys of children and of rows. Numbers sort in descending order. */
enum cct_sort_key {
	CCT_SORT_TOTAL,
	CCT_SORT_SELF,
	CCT_SORT_SAMPLES,
	CCT_SORT_NAME,
	CCT_SORT_MODULE,
	CCT_SORT_LINE,
	CCT_SORT_KEYS
};

struct cct_sort_order {
	enum cct_sort_key keys[CCT_SORT_KEYS];
	size_t n; /* 0: the default order of the format */
};

/* Computes the totals and sorts children: heaviest first, then by name. */
int cct_finish(struct cct *t, const struct symbol_table *names);
/* Numbers the nodes in preorder, so that walks through the tree access memory in order. *map: from
 * old numbers to new ones; the caller frees it. 0 or -ENOMEM. */
int cct_preorder(struct cct *t, uint32_t **map);
/* Sorts children again. The totals must be known. */
int cct_sort(struct cct *t, const struct symbol_table *names, const struct cct_sort_order *order);
/* Sorts and links the nodes from number first on, which must all be new children of one node. */
int cct_sort_children(struct cct *t, uint32_t parent, uint32_t first,
		      const struct symbol_table *names, const struct cct_sort_order *order);

/*
 * Copies a tree and merges similar siblings. CCT_MERGE_LINES merges calls from the same line, and
 * repetitions of any number. CCT_MERGE_NAMES merges calls of the same name with the same number of
 * repetitions.
 */
enum cct_merge { CCT_MERGE_LINES, CCT_MERGE_NAMES };
int cct_merge(const struct cct *from, enum cct_merge how, struct cct *to);
/* Does what cct_merge() does, and makes a map from old nodes to new ones. The caller frees *map. */
int cct_merge_map(const struct cct *from, enum cct_merge how, struct cct *to, uint32_t **map);

/* Returns the next node in preorder, 0 after the last, and updates *depth. With skip, it passes
 * over the children of node. */
uint32_t cct_next(const struct cct *t, uint32_t node, bool skip, unsigned int *depth);

#endif
