/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Contexts as stacks of locations, with recursion written out: as long as that is not
 * long.  A group of frames that stands there many times is written twice, with a remark
 * between that says how many are left out.
 */
#ifndef PCCE_PROFILE_LOCATION_STACKS_H
#define PCCE_PROFILE_LOCATION_STACKS_H

#include "profile/locations.h"
#include "tree/cursor.h"

/* A repeated group is written out up to so many frames. */
#define LOCATION_STACKS_REPEAT 128

struct location_stacks {
	struct locations *locations;
	uint32_t *frames; /* of the stack given last: locations, outermost first */
	size_t n, capacity;
	uint32_t node;		/* whose stack it is; 0: none */
	struct tree_cursor way; /* the nodes of this stack, without repetitions */
	uint32_t *begin;	/* of each of them: number of frames before it */
	uint32_t *group;	/* the first one of its group, or itself: indices */
	size_t length;		/* of these */
	size_t begin_capacity, group_capacity;
};

void location_stacks_init(struct location_stacks *s, const struct profile *p, struct locations *l);
void location_stacks_free(struct location_stacks *s);

/* Fills frames with the stack of a context that ends at place in node. 0 or -ENOMEM. */
int location_stacks_get(struct location_stacks *s, uint32_t node, struct tree_place place);

#endif
