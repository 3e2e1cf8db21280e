/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See carriers.h. */
#include <errno.h>
#include <stdlib.h>
#include "filter/carriers.h"

struct carriers {
	struct stream stream;
	struct stack_store *stacks;
};

static int carriers_event(struct stream *s, struct stream_event *e)
{
	struct carriers *c = (struct carriers *)s;

	if (e->sample->flags & PCCE_SAMPLE_CARRIER)
		return 0;
	if (c->stacks && stack_store_complete(c->stacks, e->sample, &e->sample))
		return -ENOMEM;
	return stream_pass(s->next, event, e);
}

struct stream *carriers_new(struct stack_store *stacks)
{
	static const struct stream_ops ops = {.event = carriers_event, .free = stream_free};
	struct carriers *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->stream.ops = &ops;
	c->stacks = stacks;
	return &c->stream;
}
