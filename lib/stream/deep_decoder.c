/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See deep_decoder.h. A part that needs more segments is decoded again, with twice as many. */
#include <stdlib.h>
#include "stream/deep_decoder.h"

#define DEEP_SEGMENTS 8

void deep_decoder_free(struct deep_decoder *d)
{
	free(d->flat.entries);
	decode_context_free(&d->context);
	*d = (struct deep_decoder){0};
}

bool deep_decoder_suits(const struct pcce_sample *s, const struct stack_node *below)
{
	/* Unwound frames are compared with the whole context. */
	return below && stack_store_depth(below) >= DEEP_SEGMENTS && !s->n_stack &&
	       !(s->flags & (PCCE_SAMPLE_STACK | PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_FRAMES_PARTIAL));
}

/* s: NULL in all parts but the first. */
static int decode_part(struct deep_decoder *d, const struct decode_space *as,
		       const struct pcce_sample *s, struct deep_rest *rest)
{
	static const struct pcce_sample none;
	const struct stack_node *below = rest->node, *deeper = below;
	struct decode_rest part = {.needs_more = true};
	int r = 0;

	for (uint64_t segments = 1; part.needs_more && !r; segments *= 2) {
		uint64_t entries = rest->unknown;

		part = (struct decode_rest){.module = rest->module, .func = rest->func};
		r = stack_store_flatten_newest(below, segments, s ? s : &none, &d->flat, &deeper);
		if (deeper)
			entries += stack_store_depth(deeper) * PCCE_SEGMENT_ENTRIES;
		if (!r && s)
			r = decode_first_part(as, s, d->flat.entries, d->flat.n, deeper, d->origins,
					      &d->context, &part);
		else if (!r)
			r = decode_next_part(as, d->flat.entries, d->flat.n, deeper, entries,
					     d->origins, &d->context, &part);
	}
	rest->module = part.module;
	rest->func = part.func;
	rest->consumed = d->flat.n - part.left;
	rest->node = NULL;
	if (r || !part.module)
		return r;
	/* The newest of the segments that are left. */
	rest->node = below;
	for (uint64_t n = (d->flat.n - (s ? s->n_entries : 0) - part.left) / PCCE_SEGMENT_ENTRIES;
	     n; n--)
		rest->node = stack_store_below(rest->node);
	return 0;
}

int deep_decoder_first(struct deep_decoder *d, const struct decode_space *as,
		       const struct pcce_sample *s, const struct stack_node *below,
		       struct deep_rest *rest)
{
	uint64_t known = stack_store_depth(below);

	*rest = (struct deep_rest){
		.node = below,
		.unknown = s->n_below > known ? (s->n_below - known) * PCCE_SEGMENT_ENTRIES : 0};
	return decode_part(d, as, s, rest);
}

int deep_decoder_next(struct deep_decoder *d, const struct decode_space *as, struct deep_rest *rest)
{
	return decode_part(d, as, NULL, rest);
}
