/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Contexts as lists of functions, with recursion written out: as long as that is not long.  A
 * group that stands there many times is written twice, with a remark between that says how
 * many are left out.
 */
#ifndef PCCE_PROFILE_FUNCTION_PATHS_H
#define PCCE_PROFILE_FUNCTION_PATHS_H

#include "profile/functions.h"
#include "tree/cursor.h"

/* A repeated group is written out up to so many frames. */
#define FUNCTION_PATHS_REPEAT 128

struct function_paths {
	struct functions *functions;
	uint32_t *list;	 /* of the path given last: functions, outermost first */
	uint32_t *nodes; /* and their nodes; 0: a remark */
	size_t n, capacity;
	size_t same;		/* so many of the first ones are those of the path given before */
	uint32_t node;		/* whose path it is; 0: none, and the list is empty */
	struct tree_cursor way; /* nodes, without repetitions */
	uint32_t *begin;	/* of each of these: length of the list before it */
	uint32_t *group;	/* the first one of its group, or itself: indices */
	size_t length;		/* of these */
	size_t begin_capacity, group_capacity;
};

void function_paths_init(struct function_paths *p, const struct cct *t, struct functions *f);
void function_paths_free(struct function_paths *p);

/* Fills the list with the path to a node. 0 or -ENOMEM. */
int function_paths_get(struct function_paths *p, uint32_t node);

#endif
