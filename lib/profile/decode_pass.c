/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Decodes all samples of a recording, in the order of the file, with a decode cache. */
#include <errno.h>
#include <stdlib.h>
#include "profile/profile_internal.h"

static int push_sample(void *ctx, const struct stream_event *s)
{
	return decode_cache_push(ctx, s);
}

int profile_decode(struct profile *p, struct tree_builder *b, bool below,
		   const struct decode_cache_sink *sink, size_t *n_places, const char *progress,
		   struct error *why)
{
	struct profile_internals *in = p->in;
	struct decode_cache *d;
	int r;

	/* Each pass collects the threads' stacks again. */
	stack_store_free(in->segments);
	in->segments = stack_store_new();
	thread_origins_free(p->origins);
	p->origins = thread_origins_new(b ? p->names : NULL, in->inlining);
	if (!in->segments || !p->origins)
		return -ENOMEM;
	d = decode_cache_new(in->recording->spaces, in->segments, b, p->origins, below, sink);
	if (!d)
		return -ENOMEM;
	if (in->by_label && b)
		decode_cache_group(d, in->by_label);
	r = recording_samples(in->recording, progress, NULL, push_sample, d, why);
	r = r ? r : decode_cache_end(d);
	in->n_contexts = decode_cache_unique(d);
	free(in->places);
	in->places = decode_cache_take_places(d, n_places);
	decode_cache_free(d);
	return r;
}
