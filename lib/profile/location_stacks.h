/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Unrolls contexts (unrolled_path.h) to stacks of locations. */
#ifndef PCCE_PROFILE_LOCATION_STACKS_H
#define PCCE_PROFILE_LOCATION_STACKS_H

#include "profile/locations.h"
#include "profile/unrolled_path.h"

/* Frames are locations. The profile and the locations must outlive s. */
void location_stacks_init(struct unrolled_path *s, const struct profile *p, struct locations *l);

/* Fills s->frames with the stack of a context that ends at place in node. 0 or -ENOMEM. */
int location_stacks_get(struct unrolled_path *s, uint32_t node, struct tree_place place);

#endif
