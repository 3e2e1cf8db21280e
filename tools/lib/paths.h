/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Contexts as lists of functions, with recursion written out: as long as that is not long.  A
 * group that stands there many times is written twice, with a remark between that says how
 * many are left out.
 */
#ifndef PCCE_PATHS_H
#define PCCE_PATHS_H

#include "tools/lib/functions.h"

/* A repeated group is written out up to so many frames. */
#define PATHS_REPEAT 128

struct paths {
	const struct cct *tree;
	struct functions *functions;
	uint32_t *list;	 /* of the path given last: functions, outermost first */
	uint32_t *nodes; /* and their nodes; 0: a remark */
	size_t n, capacity;
	uint32_t node; /* whose path it is; 0: none */
	uint32_t *way; /* nodes, without repetitions */
	size_t way_capacity;
};

void paths_init(struct paths *p, const struct cct *t, struct functions *f);
void paths_free(struct paths *p);

/* Fills the list with the path to a node. 0 or -ENOMEM. */
int paths_get(struct paths *p, uint32_t node);

#endif
