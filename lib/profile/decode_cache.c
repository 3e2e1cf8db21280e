/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes each distinct state once, and finds repeated ones in hash tables.
 *
 * Two instructions of one function that are outside all slots say the same about their callers. So
 * do any two in uninstrumented code (docs/decisions/013-decoding.md). For such a sample only the
 * function matters, not the instruction: the cache keeps the frames around it. Other samples are
 * kept with their instruction.
 *
 * With a million contexts nearly every lookup waits for memory. So samples pass through four
 * stages, a few samples apart, and each stage prefetches what the next one needs:
 *
 *   begin_sample()	What does the state depend on? Result: its hash.
 *   recall_state()	Is the state known? Result: where the context ends, or the call of the
 *			innermost frame.
 *   prepare_frame()	Is the state known at this instruction? If not: the innermost frame.
 *   deliver_sample()	The meaning; if it is new, its node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/array.h"
#include "profile/decode_cache.h"
#include "profile/deep_parts.h"
#include "decode/restored.h"
#include "profile/sample_points.h"
#include "stream/kernel_stacks.h"
#include "stream/label_sets.h"
#include <pcce/sample.h>
#include "base/hash_table.h"

#define STAGE 8 /* samples from one stage to the next */
#define RING (4 * STAGE)

struct state {
	uint64_t hash[2]; /* the first is 0: a free slot */
	uint32_t node;	  /* where the context ends; if not whole, the parent of the innermost frame
			   */
	uint32_t place;	  /* of the innermost frame; if not whole, of the call of this frame */
	uint32_t depth, entries;
	uint32_t context; /* number */
	uint32_t origin;
	uint32_t number; /* from 1 */
	uint8_t status, reason, verify, restored;
	bool whole; /* the innermost frame is part of the state */
	bool exact; /* the instruction matters after all: look up the state with it */
	bool counting, between;
};

HASH_TABLE_TYPE(state_table, struct state);

/* A state at an instruction. */
struct spot {
	uint32_t state; /* number; 0: a free slot */
	uint32_t place; /* of the instruction; 0 where that does not matter */
	uint32_t meaning;
};

HASH_TABLE_TYPE(spot_table, struct spot);

/* A sample between the stages. */
struct pending {
	struct pcce_sample *sample;	 /* a copy, without segments */
	uint64_t samples, weight, error; /* of the aggregated sample */
	const struct stack_node *below;
	const struct kernel_stack *kernel;
	const struct label_set *labels;
	struct pcce_wait wait;
	bool has_wait;
	struct pcce_durations *durations; /* with its buckets */
	size_t durations_size;
	bool has_durations;
	size_t capacity;
	struct sample_point point;
	XXH128_hash_t hash;
	struct spot spot;
	uint64_t spot_hash;
	struct decode_cache_meaning meaning; /* needed if the spot is new */
	uint32_t call; /* place of the call of the innermost frame; UINT32_MAX: the node is known */
	uint32_t group;	    /* the node of a label, 0: none */
	uint32_t innermost; /* the link to add under meaning.node; UINT32_MAX: none */
};

struct numbered_context {
	uint64_t hash; /* 0: a free slot */
	uint32_t number;
};

HASH_TABLE_TYPE(context_table, struct numbered_context);

struct decode_cache {
	struct address_spaces *spaces;
	struct stack_store *segments;
	struct tree_builder *builder;
	struct thread_origins *origins;
	bool below;
	struct sample_points *points;
	struct decode_cache_sink sink;
	const char *by_label; /* NULL: contexts begin at the root */
	uint32_t *group_of;   /* nodes of labels, by index of a set (label_sets_index()) */
	size_t groups_capacity;
	struct deep_decoder decoder; /* of the sample that is being decoded */
	struct deep_parts *parts;
	uint64_t consumed; /* entries of its innermost part */
	struct state_table states;
	struct spot_table spots; /* as many as there are meanings */
	struct context_table contexts;
	struct pending ring[RING];
	uint64_t begun, remembered, finished, delivered; /* samples */
};

/* ---- hash tables ----------------------------------------------------------------- */

HASH_TABLE_FUNCTIONS(state_table, struct state, XXH128_hash_t, void, s->hash[0], s->hash[0],
		     s->hash[0] == key->low64 && s->hash[1] == key->high64);

static uint64_t hash_spot(const struct spot *s)
{
	uint64_t h = ((uint64_t)s->state << 32 | s->place) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 20;
}

HASH_TABLE_FUNCTIONS(spot_table, struct spot, struct spot, void, s->state, hash_spot(s),
		     s->state == key->state && s->place == key->place);

HASH_TABLE_FUNCTIONS(context_table, struct numbered_context, uint64_t, void, s->hash, s->hash,
		     s->hash == *key);

struct decode_cache *decode_cache_new(struct address_spaces *spaces, struct stack_store *segments,
				      struct tree_builder *b, struct thread_origins *origins,
				      bool below, const struct decode_cache_sink *sink)
{
	const struct deep_parts_config parts = {b, origins, below, sink->part, sink->ctx};
	struct decode_cache *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->decoder.origins = below;
	d->spaces = spaces;
	d->segments = segments;
	d->builder = b;
	d->origins = origins;
	d->below = below;
	d->sink = *sink;
	if (sink->decoding)
		*sink->decoding = d;
	d->points = sample_points_new(spaces);
	d->parts = deep_parts_new(&parts);
	if (d->points && d->parts)
		return d;
	decode_cache_free(d);
	return NULL;
}

void decode_cache_free(struct decode_cache *d)
{
	if (d) {
		for (size_t i = 0; i < RING; i++) {
			free(d->ring[i].sample);
			free(d->ring[i].durations);
		}
		sample_points_free(d->points);
		state_table_free(&d->states);
		spot_table_free(&d->spots);
		context_table_free(&d->contexts);
		deep_decoder_free(&d->decoder);
		deep_parts_free(d->parts);
		free(d->group_of);
	}
	free(d);
}

size_t decode_cache_unique(const struct decode_cache *d)
{
	return d->contexts.n;
}

void decode_cache_line(const struct decode_cache *d, uint32_t place, struct tree_line *line)
{
	tree_builder_line(d->builder, sample_points_place(d->points, place), line);
}

struct tree_place *decode_cache_take_places(struct decode_cache *d, size_t *n)
{
	return sample_points_take_places(d->points, n);
}

struct tree_place *decode_cache_places(const struct decode_cache *d)
{
	return sample_points_places(d->points);
}

/* ---- unique contexts ------------------------------------------------------------- */

/* Returns the number of this calling context, from 1; 0: no memory. Contexts are told apart by 64
 * bits of hash. */
static uint32_t number_context(struct decode_cache *d, const struct deep_part *outside)
{
	uint64_t h = deep_parts_hash(&d->decoder.context, outside ? outside->hash : 0);
	struct numbered_context *slot = context_table_slot(&d->contexts, NULL, h, &h);

	if (!slot)
		return 0;
	if (!slot->hash)
		context_table_fill(&d->contexts, slot,
				   (struct numbered_context){h, d->contexts.n + 1});
	return slot->number;
}

/* ---- states ---------------------------------------------------------------------- */

/* Everything that the meaning of a sample depends on. No padding: it is hashed as bytes. */
struct state_key {
	uint64_t ip; /* or bias */
	uint64_t r11, id, ext, kip;
	const struct stack_node *below; /* equal stacks have one */
	uint32_t space, kind, module, func;
	uint32_t flags, n_entries, n_below, n_stack;
	uint32_t group, reserved;
};

static XXH128_hash_t hash_state(const struct pending *pending)
{
	const struct pcce_sample *s = pending->sample;
	const struct sample_point *p = &pending->point;
	struct state_key key = {
		.id = s->id,
		.ext = s->ext,
		.space = p->space,
		.kind = p->kind,
		.kip = s->kip,
		.below = pending->below,
		.flags = s->flags & ~(PCCE_SAMPLE_TRUNCATED | PCCE_SAMPLE_BY_CONTENT),
		.n_entries = s->n_entries,
		.n_below = s->n_below,
		.n_stack = s->n_stack,
		.group = pending->group,
	};
	XXH128_hash_t h, rest;
	size_t more = pcce_sample_size(s) - sizeof(*s);

	if (p->kind == SAMPLE_POINT_EXACT) {
		key.ip = p->ip;
		key.r11 = p->needs_r11 ? s->r11 : 0;
	} else {
		key.ip = p->bias;
		key.module = p->module;
		key.func = p->func;
	}
	h = XXH3_128bits(&key, sizeof(key));
	if (more) { /* entries and stack */
		rest = XXH3_128bits_withSeed(s + 1, more, h.low64);
		h.low64 ^= rest.low64;
		h.high64 = (h.high64 << 1 | h.high64 >> 63) ^ rest.high64;
	}
	h.low64 += !h.low64;
	return h;
}

static enum decode_frame_kind frame_kind_of(const struct sample_point *p)
{
	return p->kind == SAMPLE_POINT_PLAIN ? DECODE_FRAME_CALL : DECODE_FRAME_FOREIGN;
}

/* Does the context consist of the point's frame, innermost, and of others that do not depend on
 * the instruction within the function? */
static bool can_split(const struct decode_context *ctx, const struct sample_point *p)
{
	if (!ctx->n || ctx->frames[0].kind != frame_kind_of(p) || ctx->frames[0].repeat ||
	    ctx->frames[0].func != p->func || ctx->frames[0].site != PCCE_NONE ||
	    ctx->frames[0].address != p->ip)
		return false;
	for (size_t i = 0; i < ctx->n; i++)
		if (ctx->frames[i].repeat && ctx->frames[i].span > i)
			return false;
	return true;
}

static int add_to_tree(struct decode_cache *d, const struct decode_space *as,
		       const struct pending *pending, const struct deep_part *outside,
		       struct state *state)
{
	static const struct tree_place nowhere = {.module = UINT32_MAX};
	const struct pcce_sample *s = pending->sample;
	const struct stream_event event = {.sample = s, .kernel = pending->kernel};
	const uint64_t *frames;
	size_t n = kernel_stacks_of(&event, &frames);
	const struct tree_spot group = {pending->group, nowhere, nowhere};
	struct tree_spot spot;
	int r = tree_builder_add(d->builder, as, &d->decoder.context,
				 outside ? &outside->spot : &group, !state->whole, &spot);

	if (r)
		return r;
	state->node = spot.node;
	if (s->flags & PCCE_SAMPLE_KERNEL)
		state->node = tree_builder_kernel(d->builder, spot.node, frames, n,
						  s->flags & PCCE_SAMPLE_IP_MIXED ? nowhere
										  : spot.innermost);
	state->place = sample_points_number(d->points, state->whole ? spot.innermost : spot.call);
	return state->node == UINT32_MAX || state->place == UINT32_MAX ? -ENOMEM : 0;
}

/* Decodes a sample, or its innermost part: *outside is then the rest, else NULL. */
static int decode_stacked(struct decode_cache *d, const struct pending *pending,
			  const struct decode_space *as, const struct deep_part **outside)
{
	const struct pcce_sample *s = pending->sample;
	struct deep_rest rest;
	int r;

	*outside = NULL;
	/* Outer parts are remembered below the root only. */
	if (pending->group || !deep_decoder_suits(s, pending->below)) {
		r = stack_store_flatten(pending->below, s, &d->decoder.flat);
		return r ? r
			 : decode_sample(as, s, d->decoder.flat.entries, d->decoder.flat.n, false,
					 d->below, &d->decoder.context);
	}
	r = deep_decoder_first(&d->decoder, as, s, pending->below, &rest);
	if (r || !rest.node)
		return r;
	d->consumed = rest.consumed;
	return deep_parts_find(d->parts, as, pending->point.space, &rest, outside);
}

/* Fills in what is decoded. */
static int describe_state(struct decode_cache *d, const struct pending *pending,
			  const struct decode_space *as, const struct deep_part *outside,
			  struct state *state)
{
	struct decode_context *ctx = &d->decoder.context;
	const struct pcce_sample *s = pending->sample;
	uint64_t entries = (uint64_t)s->n_below * PCCE_SEGMENT_ENTRIES + s->n_entries;

	if (ctx->origin) {
		state->origin = thread_origins_number(d->origins, as, pending->point.space,
						      d->decoder.flat.entries, ctx->origin);
		if (state->origin == UINT32_MAX)
			return -ENOMEM;
		/* The unknown entries are the outer ones. */
		entries = d->decoder.flat.n - ctx->origin;
	}
	if (outside) {
		state->origin = outside->origin;
		entries = d->consumed + outside->entries;
		ctx->depth += outside->depth;
	}
	state->depth = ctx->depth < UINT32_MAX ? ctx->depth : UINT32_MAX;
	state->entries = entries < UINT32_MAX ? entries : UINT32_MAX;
	if (outside)
		deep_part_status(outside, &ctx->status, &ctx->reason);
	state->status = ctx->status;
	state->reason = ctx->reason;
	return 0;
}

/* Decodes a state that is met for the first time. 0, -ENOMEM, or what the sink returned. */
static int decode_state(struct decode_cache *d, const struct pending *pending, struct state *state)
{
	const struct sample_point *p = &pending->point;
	const struct decode_space *as = address_spaces_get(d->spaces, p->space);
	const struct decode_cache_sample stacked = {pending->sample, pending->below};
	const struct pcce_sample *s = pending->sample;
	struct decode_context *ctx = &d->decoder.context;
	const struct deep_part *outside;
	struct decode_cache_meaning m;
	enum restored_result restored;
	int r = decode_stacked(d, pending, as, &outside);

	if (!r)
		r = restored_add(as, s, pcce_sample_stack(s), ctx, &restored);
	if (!r)
		r = describe_state(d, pending, as, outside, state);
	if (r)
		return r;
	state->restored = restored;
	state->whole = p->kind == SAMPLE_POINT_EXACT;
	state->exact = !state->whole && !can_split(ctx, p);
	if (state->exact)
		return 0;
	state->counting = s->flags & PCCE_SAMPLE_COUNTING;
	state->between = s->flags & PCCE_SAMPLE_BETWEEN;
	state->verify = verify_context(as, s, pcce_sample_stack(s), ctx);
	if (state->status == DECODE_EXACT || state->status == DECODE_TRUNCATED) {
		state->context = number_context(d, outside);
		if (!state->context)
			return -ENOMEM;
	}
	if (d->builder)
		r = add_to_tree(d, as, pending, outside, state);
	m = (struct decode_cache_meaning){
		.depth = state->depth,
		.entries = state->entries,
		.status = state->status,
		.reason = state->reason,
		.verify = state->verify,
		.restored = state->restored,
	};
	return r ? r : d->sink.met(d->sink.ctx, &stacked, p->space, &m, ctx);
}

/* Sets *out to the state of a sample, decoded if it is met for the first time. 0, or an error as of
 * decode_state(). *out is valid until the next call. */
static int state_of(struct decode_cache *d, const struct pending *p, const struct state **out)
{
	struct state *slot = state_table_slot(&d->states, NULL, p->hash.low64, &p->hash);
	struct state new = {.hash = {p->hash.low64, p->hash.high64}};
	int r;

	if (!slot)
		return -ENOMEM;
	*out = slot;
	if (slot->hash[0])
		return 0;
	new.number = d->states.n + 1;
	r = decode_state(d, p, &new);
	if (!r)
		state_table_fill(&d->states, slot, new);
	return r;
}

/* ---- meanings -------------------------------------------------------------------- */

/* Adds the meaning of a sample at a new spot. 0, -ENOMEM, or what the sink returned. */
static int add_meaning(struct decode_cache *d, struct pending *p, struct spot *slot)
{
	if (p->innermost != UINT32_MAX)
		p->meaning.node = tree_builder_end(d->builder, p->meaning.node, p->innermost);
	if (p->meaning.node == UINT32_MAX || d->spots.n == UINT32_MAX)
		return -ENOMEM;
	p->spot.meaning = d->spots.n;
	spot_table_fill(&d->spots, slot, p->spot);
	return d->sink.meaning ? d->sink.meaning(d->sink.ctx, &p->meaning) : 0;
}

/* ---- labels ---------------------------------------------------------------------- */

void decode_cache_group(struct decode_cache *d, const char *key)
{
	d->by_label = key;
}

/* Sets *group to the node of a sample's label. 0 or -ENOMEM. */
static int find_label_node(struct decode_cache *d, const struct label_set *labels, uint32_t *group)
{
	uint32_t index = label_sets_index(labels);

	*group = 0;
	if (!d->by_label)
		return 0;
	if (array_reach(&d->group_of, &d->groups_capacity, index, 256, sizeof(*d->group_of)))
		return -ENOMEM;
	if (!d->group_of[index])
		d->group_of[index] = tree_builder_label(d->builder, d->by_label,
							label_set_value(labels, d->by_label));
	*group = d->group_of[index];
	return *group == UINT32_MAX ? -ENOMEM : 0;
}

/* ---- the stages ------------------------------------------------------------ */

static int copy_sample(struct pending *p, const struct pcce_sample *s)
{
	size_t size = sizeof(*s) + s->n_entries * sizeof(struct pcce_entry),
	       stack = s->n_stack * sizeof(uint64_t);

	if (array_reserve(&p->sample, &p->capacity, size + stack, 1))
		return -ENOMEM;
	memcpy(p->sample, s, size);
	memcpy((char *)p->sample + size, pcce_sample_stack(s), stack);
	p->sample->n_segments = 0;
	return 0;
}

static int hold_durations(struct pending *p, const struct pcce_durations *d)
{
	size_t size = sizeof(*d) + d->n * sizeof(struct pcce_duration_count);

	if (array_reserve(&p->durations, &p->durations_size, size, 1))
		return -ENOMEM;
	memcpy(p->durations, d, size);
	return 0;
}

static int begin_sample(struct decode_cache *d, struct pending *p, const struct stream_event *of,
			uint32_t space)
{
	const struct pcce_sample *s = of->sample;
	const struct sample_point *known =
		space == UINT32_MAX ? NULL : sample_points_at(d->points, space, s->ip);

	if (!known || copy_sample(p, s) || find_label_node(d, of->labels, &p->group))
		return -ENOMEM;
	p->below = of->below;
	p->samples = of->samples;
	p->weight = of->weight;
	p->error = of->error;
	p->kernel = of->kernel;
	p->labels = of->labels;
	p->has_wait = of->wait;
	if (of->wait)
		p->wait = *of->wait;
	p->has_durations = of->durations;
	if (of->durations && hold_durations(p, of->durations))
		return -ENOMEM;
	p->point = *known;
	/* Samples with special flags are decoded as a whole. */
	if (s->flags & ~(PCCE_SAMPLE_TRUNCATED | PCCE_SAMPLE_BETWEEN))
		p->point.kind = SAMPLE_POINT_EXACT;
	p->hash = hash_state(p);
	state_table_prefetch(&d->states, p->hash.low64);
	return 0;
}

static int recall_state(struct decode_cache *d, struct pending *p)
{
	const struct state *state;
	int r = state_of(d, p, &state);

	if (!r && state->exact) {
		p->point.kind = SAMPLE_POINT_EXACT;
		p->hash = hash_state(p);
		r = state_of(d, p, &state);
	}
	if (r)
		return r;
	p->meaning = (struct decode_cache_meaning){
		.node = state->node,
		.place = state->whole && d->builder ? state->place : p->point.place,
		.context = state->context,
		.depth = state->depth,
		.entries = state->entries,
		.origin = state->origin,
		.status = state->status,
		.reason = state->reason,
		.verify = state->verify,
		.restored = state->restored,
		.counting = state->counting,
		.between = state->between,
	};
	p->call = state->whole || !d->builder ? UINT32_MAX : state->place;
	p->spot = (struct spot){.state = state->number, .place = d->builder ? p->meaning.place : 0};
	p->spot_hash = hash_spot(&p->spot);
	spot_table_prefetch(&d->spots, p->spot_hash);
	return 0;
}

static int prepare_frame(struct decode_cache *d, struct pending *p)
{
	struct tree_spot spot = {.node = p->meaning.node};

	p->innermost = UINT32_MAX;
	if (p->call == UINT32_MAX || spot_table_find(&d->spots, NULL, p->spot_hash, &p->spot))
		return 0;
	spot.call = sample_points_place(d->points, p->call);
	return tree_builder_begin(d->builder, &spot, frame_kind_of(&p->point), p->point.func,
				  sample_points_place(d->points, p->point.place), &p->innermost);
}

static int deliver_sample(struct decode_cache *d, struct pending *p)
{
	struct stream_event s = {.sample = p->sample,
				 .samples = p->samples,
				 .weight = p->weight,
				 .error = p->error,
				 .labels = p->labels,
				 .wait = p->has_wait ? &p->wait : NULL,
				 .durations = p->has_durations ? p->durations : NULL};
	struct spot *slot = spot_table_slot(&d->spots, NULL, p->spot_hash, &p->spot);
	int r = 0;

	if (!slot)
		return -ENOMEM;
	if (slot->state)
		p->spot.meaning = slot->meaning;
	else
		r = add_meaning(d, p, slot);
	return r ? r : d->sink.sample(d->sink.ctx, &s, p->spot.meaning);
}

int decode_cache_push_in(struct decode_cache *d, const struct stream_event *s, uint32_t space)
{
	int r = begin_sample(d, &d->ring[d->begun % RING], s, space);

	d->begun++;
	if (!r && d->begun - d->remembered > STAGE)
		r = recall_state(d, &d->ring[d->remembered++ % RING]);
	if (!r && d->remembered - d->finished > STAGE)
		r = prepare_frame(d, &d->ring[d->finished++ % RING]);
	if (!r && d->finished - d->delivered > STAGE)
		r = deliver_sample(d, &d->ring[d->delivered++ % RING]);
	return r;
}

int decode_cache_push(struct decode_cache *d, const struct stream_event *s)
{
	uint32_t space = address_spaces_at(d->spaces, s->sample->pid, s->sample->time);
	struct stream_event stacked = *s;

	return stack_store_take(d->segments, s->sample, &stacked.below)
		       ? -ENOMEM
		       : decode_cache_push_in(d, &stacked, space);
}

int decode_cache_end(struct decode_cache *d)
{
	int r = 0;

	while (!r && d->remembered < d->begun)
		r = recall_state(d, &d->ring[d->remembered++ % RING]);
	while (!r && d->finished < d->begun)
		r = prepare_frame(d, &d->ring[d->finished++ % RING]);
	while (!r && d->delivered < d->begun)
		r = deliver_sample(d, &d->ring[d->delivered++ % RING]);
	return r || !d->sink.end ? r : d->sink.end(d->sink.ctx);
}
