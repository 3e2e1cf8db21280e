/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * See deep_parts.h. A search decodes new parts from the inside outwards, up to one that is known or
 * the end. Then it adds them up and to the tree, from the outside inwards.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/id_map.h"
#include "profile/deep_parts.h"

/* A part that is decoded, and not yet added. */
struct found_part {
	uint64_t words[ID_MAP_WORDS];
	size_t first, n; /* frames */
	uint64_t consumed;
	struct deep_part own; /* without what is outside */
};

struct deep_parts {
	struct deep_parts_config config;
	struct deep_decoder decoder;
	struct id_map by_rest;
	struct deep_part *all;
	size_t n;
	struct found_part *found;
	size_t n_found, found_capacity;
	struct decode_frame *frames; /* of the found ones */
	size_t n_frames, frames_capacity;
	struct deep_part last; /* result of the last search */
};

struct deep_parts *deep_parts_new(const struct deep_parts_config *config)
{
	struct deep_parts *p = calloc(1, sizeof(*p));

	if (p) {
		p->config = *config;
		p->decoder.origins = config->below;
	}
	return p;
}

void deep_parts_free(struct deep_parts *p)
{
	if (p) {
		deep_decoder_free(&p->decoder);
		id_map_free(&p->by_rest);
		free(p->all);
		free(p->found);
		free(p->frames);
	}
	free(p);
}

uint64_t deep_parts_hash(const struct decode_context *ctx, uint64_t before)
{
	uint64_t h = before ? before : 0x9e3779b97f4a7c15ULL;

	for (size_t i = ctx->n; i-- > 0;) {
		const struct decode_frame *f = &ctx->frames[i];
		uint64_t words[3] = {(uint64_t)f->kind << 32 | f->module,
				     (uint64_t)f->func << 32 | f->site,
				     (uint64_t)f->span << 32 | f->repeat};

		/* The function of a restored frame is known only by its address. */
		if (f->restored && i)
			words[1] = f->address;
		for (int j = 0; j < 3; j++) {
			h = (h ^ words[j]) * 0xff51afd7ed558ccdULL;
			h ^= h >> 32;
		}
	}
	return h + !h;
}

void deep_part_status(const struct deep_part *outside, enum decode_status *status,
		      enum decode_reason *reason)
{
	/* A part that something is outside of has no other reason. */
	if (decode_reason_truncates(*reason) && !outside->reason)
		return;
	*status = outside->status;
	*reason = outside->reason;
}

static void words_of(const struct deep_rest *rest, uint32_t space, uint64_t words[ID_MAP_WORDS])
{
	words[0] = (uintptr_t)rest->node;
	words[1] = (uint64_t)space << 32 | rest->func;
	words[2] = rest->module->module;
	words[3] = rest->unknown != 0;
}

static int keep_frames(struct deep_parts *p, const struct decode_context *ctx)
{
	size_t need = p->n_frames + ctx->n;

	if (array_reserve(&p->frames, &p->frames_capacity, need, sizeof(*p->frames)))
		return -ENOMEM;
	if (ctx->n)
		memcpy(p->frames + p->n_frames, ctx->frames, ctx->n * sizeof(*ctx->frames));
	p->n_frames = need;
	return 0;
}

/* Decodes the next part outwards, and keeps it. */
static int find_part(struct deep_parts *p, const struct decode_space *as, uint32_t space,
		     const uint64_t words[ID_MAP_WORDS], struct deep_rest *rest)
{
	const struct decode_context *ctx = &p->decoder.context;
	uint64_t all = stack_store_depth(rest->node) * PCCE_SEGMENT_ENTRIES + rest->unknown;
	int r = deep_decoder_next(&p->decoder, as, rest);
	struct found_part *f;

	if (r || array_grow_from(&p->found, p->n_found, &p->found_capacity, 64, sizeof(*f)))
		return -ENOMEM;
	f = &p->found[p->n_found++];
	*f = (struct found_part){
		.first = p->n_frames,
		.n = ctx->n,
		.consumed = rest->consumed,
		.own = {.depth = ctx->depth, .status = ctx->status, .reason = ctx->reason}};
	memcpy(f->words, words, sizeof(f->words));
	if (!rest->node)
		f->own.entries = ctx->origin ? p->decoder.flat.n - ctx->origin : all;
	if (ctx->origin) {
		f->own.origin = thread_origins_number(p->config.origins, as, space,
						      p->decoder.flat.entries, ctx->origin);
		if (f->own.origin == UINT32_MAX)
			return -ENOMEM;
	}
	r = keep_frames(p, ctx);
	return r || !p->config.part ? r : p->config.part(p->config.ctx, space, ctx);
}

/* Adds a part below what is outside of it; NULL: nothing is. */
static int add_part(struct deep_parts *p, const struct decode_space *as, const struct found_part *f,
		    const struct deep_part *outside, struct deep_part *out)
{
	const struct decode_context ctx = {.frames = p->frames + f->first,
					   .n = f->n,
					   .status = f->own.status,
					   .reason = f->own.reason};
	struct id_map_entry *e;

	*out = f->own;
	out->hash = deep_parts_hash(&ctx, outside ? outside->hash : 0);
	if (outside) {
		out->depth += outside->depth;
		out->entries = f->consumed + outside->entries;
		out->origin = outside->origin;
		deep_part_status(outside, &out->status, &out->reason);
	}
	if (p->config.builder && tree_builder_add(p->config.builder, as, &ctx,
						  outside ? &outside->spot : NULL, 0, &out->spot))
		return -ENOMEM;
	e = id_map_find(&p->by_rest, f->words);
	if (!e || array_grow(&p->all, p->n, sizeof(*p->all)))
		return -ENOMEM;
	p->all[p->n] = *out;
	id_map_fill(&p->by_rest, e, f->words, p->n++);
	return 0;
}

int deep_parts_find(struct deep_parts *p, const struct decode_space *as, uint32_t space,
		    const struct deep_rest *rest, const struct deep_part **out)
{
	struct deep_part outside = {0}, part;
	struct deep_rest at = *rest;
	bool any = false;
	int r = 0;

	p->n_found = p->n_frames = 0;
	while (at.node && !any && !r) {
		uint64_t words[ID_MAP_WORDS];
		struct id_map_entry *e;

		words_of(&at, space, words);
		e = id_map_find(&p->by_rest, words);
		if (!e)
			return -ENOMEM;
		any = e->number;
		if (any)
			outside = p->all[e->number - 1];
		else
			r = find_part(p, as, space, words, &at);
	}
	while (p->n_found && !r) {
		r = add_part(p, as, &p->found[--p->n_found], any ? &outside : NULL, &part);
		outside = part;
		any = true;
	}
	p->last = outside;
	*out = &p->last;
	return r;
}
