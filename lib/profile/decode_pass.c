/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Samples, as they come from the file, through the decoder. */
#include <errno.h>
#include <stdlib.h>
#include "profile/profile_internal.h"
#include "base/progress.h"

static int push_all(struct decode_cache *d, struct datafile_reader *reader, const char *what,
		    struct error *why)
{
	uint64_t total = datafile_total(reader);
	const struct pcce_record *rec;
	struct datafile_sample s;
	int r, error;

	while ((r = datafile_next(reader, &rec)) > 0) {
		if (!datafile_sample(rec, &s))
			continue;
		progress(what, datafile_position(reader), total);
		error = decode_cache_push(d, &s);
		if (error)
			return error;
	}
	if (r)
		return error_set(why, r, "%s", datafile_error(reader));
	return decode_cache_end(d);
}

int profile_decode(struct profile *p, struct datafile_reader *reader, struct tree_builder *b,
		   bool below, const struct decode_cache_sink *sink, size_t *n_places,
		   const char *what, struct error *why)
{
	struct profile_internals *in = p->in;
	struct decode_cache *d;
	int r;

	/* A thread's stack is put together anew. */
	stack_store_free(in->segments);
	in->segments = stack_store_new();
	thread_origins_free(p->origins);
	p->origins = thread_origins_new(b ? p->names : NULL, in->inlining);
	d = in->segments && p->origins
		    ? decode_cache_new(in->spaces, in->segments, b, p->origins, below, sink)
		    : NULL;
	r = d ? push_all(d, reader, what, why) : -ENOMEM;
	if (d) {
		in->n_contexts = decode_cache_unique(d);
		free(in->places);
		in->places = decode_cache_take_places(d, n_places);
	}
	decode_cache_free(d);
	return r;
}
