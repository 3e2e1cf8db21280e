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
#define STACKS_REPEAT 128

struct stacks {
	struct locations *locations;
	uint32_t *frames; /* of the stack given last: locations, outermost first */
	size_t n, capacity;
	uint32_t node;	 /* whose stack it is; 0: none */
	struct way way;	 /* the nodes of this stack, without repetitions */
	uint32_t *begin; /* of each of them: number of frames before it */
	uint32_t *group; /* the first one of its group, or itself: indices */
	size_t length;	 /* of these */
	size_t begin_capacity, group_capacity;
};

void stacks_init(struct stacks *s, const struct profile *p, struct locations *l);
void stacks_free(struct stacks *s);

/* Fills frames with the stack of a context that ends at place in node. 0 or -ENOMEM. */
int stacks_get(struct stacks *s, uint32_t node, struct place place);

#endif
