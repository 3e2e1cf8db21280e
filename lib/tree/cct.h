/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A calling context tree with weights.  Node 0 is the root, "all"; a child always
 * has a higher number than its parent.
 */
#ifndef PCCE_TREE_CCT_H
#define PCCE_TREE_CCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "decode/decode.h"
#include "symbols/symbol_table.h"

/* What makes a node under its parent. No padding before number: keys are compared as bytes. */
struct cct_key {
	uint64_t call;	 /* link-time address of the call in the parent's module; 0: unknown, or
			    inlined */
	uint32_t kind;	 /* enum decode_frame_kind */
	uint32_t flags;	 /* CCT_* */
	uint32_t module; /* UINT32_MAX: none */
	uint32_t func;	 /* into the module's table, or PCCE_NONE */
	uint32_t name;	 /* strings of struct symbol_table */
	uint32_t file;	 /* where the parent calls this, 0: unknown */
	uint32_t line;
	uint32_t repeat; /* this node and the span - 1 below it, one child each, stand repeat + 1
			    times in a row */
	uint32_t span;
	uint32_t number; /* of the key in its tree; set by the tree */
};

#define CCT_INLINED 1u /* inlined into its parent */
#define CCT_KERNEL 2u

struct cct_node {
	const struct cct_key *key; /* shared by all nodes of the tree that have an equal one */
	uint64_t self, total;	   /* weights */
	uint64_t samples;	   /* that ended here */
	uint32_t parent;
	uint32_t child, next; /* 0: none; in order of total weight once cct_finish() has run */
	uint32_t repeat_min, repeat_max; /* they differ in a merged node only */
};

struct cct_slot {
	uint32_t parent, key; /* its number */
	uint32_t node;	      /* 0: free */
};

struct cct {
	struct cct_node *nodes;
	size_t n, capacity;
	struct cct_slot *slots; /* children by parent and key; made again when needed */
	size_t n_slots;
	struct cct_keys *keys;
};

int cct_init(struct cct *t); /* 0 or -ENOMEM */
void cct_free(struct cct *t);

/* The child of this key, made if need be; UINT32_MAX: no memory. */
uint32_t cct_child(struct cct *t, uint32_t parent, const struct cct_key *key);
/* The same in two steps, for a key that is used often. NULL: no memory. */
const struct cct_key *cct_intern(struct cct *t, const struct cct_key *key);
uint32_t cct_child_of(struct cct *t, uint32_t parent, const struct cct_key *interned);
/* Such a call is coming: the memory that it needs is asked for. */
void cct_expect(const struct cct *t, uint32_t parent, const struct cct_key *interned);
/* Gives back the memory that only cct_child() needs. */
void cct_settle(struct cct *t);
/* Different keys: their numbers are below this. */
uint32_t cct_key_count(const struct cct *t);
const struct cct_key *cct_key(const struct cct *t, uint32_t number);

/* What children, and rows of lists, are ordered by. Numbers: the largest first. */
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
	size_t n; /* 0: as the format likes it */
};

/* Sums up the totals and orders children: heaviest first, then by name. */
int cct_finish(struct cct *t, const struct symbol_table *names);
/* Numbers the nodes in the order in which children are linked, each before what is under it: a walk
 * of the tree, and of the way to one node after the other, then goes through memory in order. map:
 * from old numbers to new ones, for the caller to free. 0 or -ENOMEM. */
int cct_preorder(struct cct *t, uint32_t **map);
/* Orders children again; the totals are known. */
int cct_sort(struct cct *t, const struct symbol_table *names, const struct cct_sort_order *order);
/* Links the nodes from number first on, which are all new children of one node, in order. */
int cct_sort_children(struct cct *t, uint32_t parent, uint32_t first,
		      const struct symbol_table *names, const struct cct_sort_order *order);

/*
 * The same weights with like siblings merged.  CCT_MERGE_LINES: calls from the same line, and
 * repetitions whatever their number.  CCT_MERGE_NAMES: calls of the same name, repeated equally
 * often.
 */
enum cct_merge { CCT_MERGE_LINES, CCT_MERGE_NAMES };
int cct_merge(const struct cct *from, enum cct_merge how, struct cct *to);
/* The same, and which node each became, in an array to be freed. */
int cct_merge_map(const struct cct *from, enum cct_merge how, struct cct *to, uint32_t **map);

/* The next node in preorder within the whole tree, 0 after the last; *depth goes along. With skip,
 * the children of node are passed over. */
uint32_t cct_next(const struct cct *t, uint32_t node, bool skip, unsigned int *depth);

#endif
