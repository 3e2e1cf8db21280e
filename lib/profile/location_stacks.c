/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See location_stacks.h. */
#include <errno.h>
#include "profile/location_stacks.h"

/* A frame ends where another one is called, so its location is that of this call. */
static int frame_location(void *ctx, uint32_t node, uint32_t next, uint32_t *frame)
{
	const struct locations *l = ctx;

	(void)node;
	*frame = next ? l->caller[next] : LOCATION_NONE;
	return next && *frame == LOCATION_NONE;
}

static uint32_t remark_location(void *ctx, const char *text)
{
	return locations_remark(ctx, text);
}

void location_stacks_init(struct unrolled_path *s, const struct profile *p, struct locations *l)
{
	static const struct unrolled_path_kind kind = {frame_location, remark_location, true};

	unrolled_path_init(s, &p->tree, &kind, l);
}

int location_stacks_get(struct unrolled_path *s, uint32_t node, struct tree_place place)
{
	if (unrolled_path_to(s, node))
		return -ENOMEM;
	if (!node)
		return 0;
	s->frames[s->n - 1] = locations_leaf(s->ctx, node, place);
	return s->frames[s->n - 1] == LOCATION_NONE ? -ENOMEM : 0;
}
