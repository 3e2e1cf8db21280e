/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unrolls contexts: lists the frames from the root to a node of the tree, and writes recursion out.
 * A repeated group that would become longer than UNROLLED_PATH_REPEAT frames is written twice, with
 * a remark between that says how many are left out. What a frame is, a function or a location, the
 * kind of the path says.
 *
 * Going from one node to another makes only the frames in which the two paths differ.
 */
#ifndef PCCE_PROFILE_UNROLLED_PATH_H
#define PCCE_PROFILE_UNROLLED_PATH_H

#include "tree/cursor.h"

#define UNROLLED_PATH_REPEAT 128

struct unrolled_path_kind {
	/* Sets *frame to the frame of a node; next is the node after it on the path, 0 at the end.
	 * 0; 1: the node has no frame of its own; or -ENOMEM. */
	int (*frame)(void *ctx, uint32_t node, uint32_t next, uint32_t *frame);
	/* Returns the frame of a remark. UINT32_MAX: no memory. */
	uint32_t (*remark)(void *ctx, const char *text);
	bool uses_next; /* frame() depends on next */
};

struct unrolled_path {
	uint32_t *frames; /* of the path given last, outermost first */
	uint32_t *nodes;  /* their nodes; 0: a remark */
	size_t n, capacity;
	size_t same;		/* the first `same` frames are those of the path given before */
	uint32_t node;		/* where the path ends; 0: the path is empty */
	struct tree_cursor way; /* the nodes, without repetitions */
	uint32_t *begin;	/* of each of them: number of frames before it */
	uint32_t *group;	/* index of the first one of its repeated group, or its own */
	size_t begin_capacity, group_capacity;
	size_t length; /* of begin and group */
	const struct unrolled_path_kind *kind;
	void *ctx;
};

/* The tree, kind and ctx must outlive the path. */
void unrolled_path_init(struct unrolled_path *p, const struct cct *t,
			const struct unrolled_path_kind *kind, void *ctx);
void unrolled_path_free(struct unrolled_path *p);

/* Fills frames with the path to a node. 0 or -ENOMEM, which leaves an unusable list. */
int unrolled_path_to(struct unrolled_path *p, uint32_t node);

#endif
