/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Two instructions of one function that stand outside all slots say the same about their
 * callers, and so do any two in code that is not instrumented (docs/design.md, "Decoding at any
 * instruction"): of such a sample only the function counts, not the instruction, and the
 * frames around it are remembered.  The other samples are remembered with their
 * instruction.
 *
 * With a million contexts nearly every look into a table waits for memory.  So samples go
 * through four stages, a few samples apart, and each stage asks for the memory that the
 * next one needs:
 *
 *   begin()    what does the state depend on?         its hash
 *   remember() has it been met before?                where the context ends, or the call of the
 *                                                     innermost frame
 *   finish()   has it been met at this instruction?   the meaning; if it is new, the innermost
 * frame deliver()  the node of a new one
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "profile/decode_cache.h"
#include "profile/sample_points.h"
#include <pcce/sample.h>
#include "base/huge_alloc.h"

#define STAGE 8 /* samples from one stage to the next */
#define RING (4 * STAGE)

struct state {
	uint64_t hash[2]; /* the first is 0: free */
	uint32_t node;	/* where the context ends, or, if not whole, what the innermost frame hangs
			   under */
	uint32_t place; /* of the innermost frame; not whole: that this frame is called from */
	uint32_t depth, entries;
	uint32_t context; /* number */
	uint32_t origin;
	uint32_t number; /* from 1 */
	uint8_t status, reason, verify;
	bool whole;
	bool exact; /* the instruction matters after all: look again, with it */
};

/* A state at an instruction. */
struct spot {
	uint32_t state; /* number; 0: free */
	uint32_t place; /* of the instruction; 0 where that does not matter */
	uint32_t meaning;
};

/* A sample under way. */
struct pending {
	struct pcce_sample *sample; /* a copy, without segments */
	uint64_t samples, weight;   /* that it stands for */
	const struct stack_node *below;
	size_t capacity;
	struct sample_point point;
	XXH128_hash_t hash;
	struct spot spot;
	uint64_t spot_hash;
	struct decode_cache_meaning meaning; /* if it is new */
	uint32_t call; /* place of the call of the innermost frame; UINT32_MAX: the node is known */
	uint32_t innermost; /* link to be added under meaning.node; UINT32_MAX: nothing */
};

struct seen {
	uint64_t hash; /* 0: free */
	uint32_t number;
};

struct decode_cache {
	struct address_spaces *spaces;
	struct stack_store *segments;
	struct tree_builder *builder;
	struct thread_origins *origins;
	bool below;
	struct sample_points *points;
	struct decode_cache_sink sink;
	struct stack_store_flat stack; /* of the sample that is being decoded */
	struct decode_context context;
	struct state *states;
	size_t n_states, n_state_slots;
	struct spot *spots;
	size_t n_meanings, n_spot_slots;
	struct seen *seen; /* contexts */
	size_t n_seen, n_seen_slots;
	struct pending ring[RING];
	uint64_t begun, remembered, finished, delivered; /* samples */
};

struct decode_cache *decode_cache_new(struct address_spaces *spaces, struct stack_store *segments,
				      struct tree_builder *b, struct thread_origins *origins,
				      bool below, const struct decode_cache_sink *sink)
{
	struct decode_cache *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->spaces = spaces;
	d->segments = segments;
	d->builder = b;
	d->origins = origins;
	d->below = below;
	d->sink = *sink;
	if (sink->decoding)
		*sink->decoding = d;
	d->points = sample_points_new(spaces);
	d->n_state_slots = d->n_seen_slots = d->n_spot_slots = 4096;
	d->states = calloc(d->n_state_slots, sizeof(*d->states));
	d->seen = calloc(d->n_seen_slots, sizeof(*d->seen));
	d->spots = calloc(d->n_spot_slots, sizeof(*d->spots));
	if (d->points && d->states && d->seen && d->spots)
		return d;
	decode_cache_free(d);
	return NULL;
}

void decode_cache_free(struct decode_cache *d)
{
	if (d) {
		for (size_t i = 0; i < RING; i++)
			free(d->ring[i].sample);
		sample_points_free(d->points);
		free(d->states);
		free(d->seen);
		free(d->spots);
		free(d->stack.entries);
		decode_context_free(&d->context);
	}
	free(d);
}

size_t decode_cache_unique(const struct decode_cache *d)
{
	return d->n_seen;
}

void decode_cache_line(const struct decode_cache *d, uint32_t place, struct tree_line *line)
{
	tree_builder_line(d->builder, sample_points_place(d->points, place), line);
}

struct tree_place *decode_cache_take_places(struct decode_cache *d, size_t *n)
{
	return sample_points_take_places(d->points, n);
}

/* ---- unique contexts ------------------------------------------------------------- */

static int rehash_seen(struct decode_cache *d)
{
	size_t want = d->n_seen_slots * 2;
	struct seen *more = huge_alloc(want, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_seen_slots; i++) {
		size_t at = d->seen[i].hash & (want - 1);

		if (!d->seen[i].hash)
			continue;
		while (more[at].hash)
			at = (at + 1) & (want - 1);
		more[at] = d->seen[i];
	}
	free(d->seen);
	d->seen = more;
	d->n_seen_slots = want;
	return 0;
}

/* The number of this chain of calls, from 1; 0: no memory. Contexts are told apart by 64 bits of
 * hash. */
static uint32_t number_context(struct decode_cache *d, const struct decode_context *ctx)
{
	uint64_t h = 0x9e3779b97f4a7c15ULL;
	size_t at;

	for (size_t i = 0; i < ctx->n; i++) {
		const struct decode_frame *f = &ctx->frames[i];
		uint64_t words[3] = {(uint64_t)f->kind << 32 | f->module,
				     (uint64_t)f->func << 32 | f->site,
				     (uint64_t)f->span << 32 | f->repeat};

		for (int j = 0; j < 3; j++) {
			h = (h ^ words[j]) * 0xff51afd7ed558ccdULL;
			h ^= h >> 32;
		}
	}
	h += !h;
	if (d->n_seen * 2 >= d->n_seen_slots && rehash_seen(d))
		return 0;
	for (at = h & (d->n_seen_slots - 1); d->seen[at].hash;
	     at = (at + 1) & (d->n_seen_slots - 1))
		if (d->seen[at].hash == h)
			return d->seen[at].number;
	d->seen[at] = (struct seen){h, ++d->n_seen};
	return d->seen[at].number;
}

/* ---- states ---------------------------------------------------------------------- */

/* All that the meaning of a sample depends on. No padding. */
struct state_key {
	uint64_t ip; /* or bias */
	uint64_t r11, id, ext, kip;
	const struct stack_node *below; /* equal stacks have one */
	uint32_t space, kind, module, func;
	uint32_t flags, n_entries, n_below, n_stack;
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

static int rehash_states(struct decode_cache *d)
{
	size_t want = d->n_state_slots * 2;
	struct state *more = huge_alloc(want, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_state_slots; i++) {
		size_t at = d->states[i].hash[0] & (want - 1);

		if (!d->states[i].hash[0])
			continue;
		while (more[at].hash[0])
			at = (at + 1) & (want - 1);
		more[at] = d->states[i];
	}
	free(d->states);
	d->states = more;
	d->n_state_slots = want;
	return 0;
}

static struct state *find_state(const struct decode_cache *d, XXH128_hash_t h)
{
	size_t at;

	for (at = h.low64 & (d->n_state_slots - 1); d->states[at].hash[0];
	     at = (at + 1) & (d->n_state_slots - 1))
		if (d->states[at].hash[0] == h.low64 && d->states[at].hash[1] == h.high64)
			break;
	return &d->states[at];
}

static enum decode_frame_kind frame_kind_of(const struct sample_point *p)
{
	return p->kind == SAMPLE_POINT_PLAIN ? DECODE_FRAME_CALL : DECODE_FRAME_FOREIGN;
}

/* Does the context consist of an innermost frame as the point says, and others that do not depend
 * on where in its function it is? */
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
		       const struct pcce_sample *s, struct state *state)
{
	struct tree_spot spot;
	int r = tree_builder_add(d->builder, as, &d->context, !state->whole, &spot);

	if (r)
		return r;
	state->node = spot.node;
	if (s->flags & PCCE_SAMPLE_KERNEL)
		state->node = tree_builder_kernel(d->builder, spot.node, s->kip, spot.innermost);
	state->place = sample_points_number(d->points, state->whole ? spot.innermost : spot.call);
	return state->node == UINT32_MAX || state->place == UINT32_MAX ? -ENOMEM : 0;
}

static int decode(struct decode_cache *d, const struct pending *pending, struct state *state)
{
	const struct sample_point *p = &pending->point;
	const struct decode_space *as = address_spaces_get(d->spaces, p->space);
	const struct decode_cache_sample stacked = {pending->sample, pending->below};
	const struct pcce_sample *s = pending->sample;
	uint64_t entries = (uint64_t)s->n_below * PCCE_SEGMENT_ENTRIES + s->n_entries;
	struct decode_cache_meaning m;
	int r = stack_store_flatten(pending->below, s, &d->stack);

	if (!r)
		r = decode_sample(as, s, d->stack.entries, d->stack.n, false, d->below,
				  &d->context);

	if (r)
		return r;
	if (d->context.origin) {
		state->origin = thread_origins_number(d->origins, as, p->space, d->stack.entries,
						      d->context.origin);
		if (state->origin == UINT32_MAX)
			return -ENOMEM;
		/* What is not known is further out. */
		entries = d->stack.n - d->context.origin;
	}
	state->whole = p->kind == SAMPLE_POINT_EXACT;
	state->exact = !state->whole && !can_split(&d->context, p);
	if (state->exact)
		return 0;
	state->depth = d->context.depth < UINT32_MAX ? d->context.depth : UINT32_MAX;
	state->entries = entries < UINT32_MAX ? entries : UINT32_MAX;
	state->status = d->context.status;
	state->reason = d->context.reason;
	state->verify = verify_context(as, s, pcce_sample_stack(s), &d->context);
	if (state->status != DECODE_UNDECODABLE && state->status != DECODE_OUTSIDE) {
		state->context = number_context(d, &d->context);
		if (!state->context)
			return -ENOMEM;
	}
	if (d->builder)
		r = add_to_tree(d, as, s, state);
	m = (struct decode_cache_meaning){
		.depth = state->depth,
		.entries = state->entries,
		.status = state->status,
		.reason = state->reason,
		.verify = state->verify,
	};
	return r ? r : d->sink.met(d->sink.ctx, &stacked, p->space, &m, &d->context);
}

/* The state of a sample, decoded if it is met for the first time. */
static int state_of(struct decode_cache *d, const struct pending *p, const struct state **out)
{
	struct state *state;
	int r;

	if (d->n_states * 4 >= d->n_state_slots * 3 && rehash_states(d))
		return -ENOMEM;
	*out = state = find_state(d, p->hash);
	if (state->hash[0])
		return 0;
	r = decode(d, p, state);
	if (r)
		return r;
	state->hash[0] = p->hash.low64;
	state->hash[1] = p->hash.high64;
	state->number = ++d->n_states;
	return 0;
}

/* ---- meanings -------------------------------------------------------------------- */

static uint64_t hash_spot(const struct spot *s)
{
	uint64_t h = ((uint64_t)s->state << 32 | s->place) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 20;
}

static int rehash_spots(struct decode_cache *d)
{
	size_t want = d->n_spot_slots * 2;
	struct spot *more = huge_alloc(want, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (size_t i = 0; i < d->n_spot_slots; i++) {
		size_t at = hash_spot(&d->spots[i]) & (want - 1);

		if (!d->spots[i].state)
			continue;
		while (more[at].state)
			at = (at + 1) & (want - 1);
		more[at] = d->spots[i];
	}
	free(d->spots);
	d->spots = more;
	d->n_spot_slots = want;
	return 0;
}

/* It, or where it is to be. */
static struct spot *find_spot(const struct decode_cache *d, const struct pending *p)
{
	size_t at = p->spot_hash & (d->n_spot_slots - 1);

	for (; d->spots[at].state; at = (at + 1) & (d->n_spot_slots - 1))
		if (d->spots[at].state == p->spot.state && d->spots[at].place == p->spot.place)
			break;
	return &d->spots[at];
}

static int add_meaning(struct decode_cache *d, struct pending *p)
{
	if (p->innermost != UINT32_MAX)
		p->meaning.node = tree_builder_end(d->builder, p->meaning.node, p->innermost);
	if (p->meaning.node == UINT32_MAX || d->n_meanings == UINT32_MAX)
		return -ENOMEM;
	p->spot.meaning = d->n_meanings++;
	*find_spot(d, p) = p->spot;
	if (d->n_meanings * 4 >= d->n_spot_slots * 3 && rehash_spots(d))
		return -ENOMEM;
	return d->sink.meaning ? d->sink.meaning(d->sink.ctx, &p->meaning) : 0;
}

/* ---- the stages ------------------------------------------------------------ */

static int copy(struct pending *p, const struct pcce_sample *s)
{
	size_t size = sizeof(*s) + s->n_entries * sizeof(struct pcce_entry),
	       stack = s->n_stack * sizeof(uint64_t);

	if (size + stack > p->capacity) {
		free(p->sample);
		p->capacity = 0;
		p->sample = malloc((size + stack) * 2);
		if (!p->sample)
			return -ENOMEM;
		p->capacity = (size + stack) * 2;
	}
	memcpy(p->sample, s, size);
	memcpy((char *)p->sample + size, pcce_sample_stack(s), stack);
	p->sample->n_segments = 0;
	return 0;
}

static int begin(struct decode_cache *d, struct pending *p, const struct datafile_sample *of)
{
	const struct pcce_sample *s = of->sample;
	uint32_t space = address_spaces_at(d->spaces, s->pid, s->time);
	const struct sample_point *known =
		space == UINT32_MAX ? NULL : sample_points_at(d->points, space, s->ip);

	if (!known || copy(p, s) || stack_store_take(d->segments, s, &p->below))
		return -ENOMEM;
	p->samples = of->samples;
	p->weight = of->weight;
	p->point = *known;
	/* What is special about a sample is decoded as a whole. */
	if (s->flags & ~PCCE_SAMPLE_TRUNCATED)
		p->point.kind = SAMPLE_POINT_EXACT;
	p->hash = hash_state(p);
	__builtin_prefetch(&d->states[p->hash.low64 & (d->n_state_slots - 1)], 1);
	return 0;
}

static int remember(struct decode_cache *d, struct pending *p)
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
	};
	p->call = state->whole || !d->builder ? UINT32_MAX : state->place;
	p->spot = (struct spot){.state = state->number, .place = d->builder ? p->meaning.place : 0};
	p->spot_hash = hash_spot(&p->spot);
	__builtin_prefetch(&d->spots[p->spot_hash & (d->n_spot_slots - 1)]);
	return 0;
}

static int finish(struct decode_cache *d, struct pending *p)
{
	struct tree_spot spot = {.node = p->meaning.node};

	p->innermost = UINT32_MAX;
	if (p->call == UINT32_MAX || find_spot(d, p)->state)
		return 0;
	spot.call = sample_points_place(d->points, p->call);
	return tree_builder_begin(d->builder, &spot, frame_kind_of(&p->point), p->point.func,
				  sample_points_place(d->points, p->point.place), &p->innermost);
}

static int deliver(struct decode_cache *d, struct pending *p)
{
	struct datafile_sample s = {p->sample, p->samples, p->weight};
	const struct spot *known = find_spot(d, p);
	int r = 0;

	if (known->state)
		p->spot.meaning = known->meaning;
	else
		r = add_meaning(d, p);
	return r ? r : d->sink.sample(d->sink.ctx, &s, p->spot.meaning);
}

int decode_cache_push(struct decode_cache *d, const struct datafile_sample *s)
{
	int r = begin(d, &d->ring[d->begun % RING], s);

	d->begun++;
	if (!r && d->begun - d->remembered > STAGE)
		r = remember(d, &d->ring[d->remembered++ % RING]);
	if (!r && d->remembered - d->finished > STAGE)
		r = finish(d, &d->ring[d->finished++ % RING]);
	if (!r && d->finished - d->delivered > STAGE)
		r = deliver(d, &d->ring[d->delivered++ % RING]);
	return r;
}

int decode_cache_end(struct decode_cache *d)
{
	int r = 0;

	while (!r && d->remembered < d->begun)
		r = remember(d, &d->ring[d->remembered++ % RING]);
	while (!r && d->finished < d->begun)
		r = finish(d, &d->ring[d->finished++ % RING]);
	while (!r && d->delivered < d->begun)
		r = deliver(d, &d->ring[d->delivered++ % RING]);
	return r || !d->sink.end ? r : d->sink.end(d->sink.ctx);
}
