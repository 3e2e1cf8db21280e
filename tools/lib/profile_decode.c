/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Every different sample is decoded once for each address space in which it occurs,
 * and put into the tree of all contexts.  Afterwards each sample points to what it
 * means, so that selecting among samples costs one look at each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/profile_internal.h"
#include "tools/lib/progress.h"
#include "tools/lib/tree_build.h"
#include "tools/lib/verify.h"

/* A number for each chain of calls, told apart by 64 bits of hash. */
struct context_set {
	struct numbered {
		uint64_t hash; /* 0: free */
		uint32_t number;
	} * slots;
	size_t n_slots;
};

/* The number of each leaf. */
struct leaf_set {
	uint32_t *slots; /* index + 1; 0: free */
	size_t n_slots, capacity;
};

struct decoder {
	struct profile *p;
	const struct profile_options *options;
	struct tree_builder *builder; /* NULL: no tree */
	struct context context;
	struct context_set contexts;
	struct leaf_set leaves;
};

static uint64_t hash_context(const struct context *ctx)
{
	uint64_t h = 0x9e3779b97f4a7c15ULL;

	for (size_t i = 0; i < ctx->n; i++) {
		const struct frame *f = &ctx->frames[i];
		uint64_t words[3] = {(uint64_t)f->kind << 32 | f->module, (uint64_t)f->func << 32 | f->site,
				     (uint64_t)f->span << 32 | f->repeat};

		for (int j = 0; j < 3; j++) {
			h = (h ^ words[j]) * 0xff51afd7ed558ccdULL;
			h ^= h >> 32;
		}
	}
	return h + !h;
}

static struct numbered *find_context(const struct context_set *set, uint64_t hash)
{
	size_t at = hash & (set->n_slots - 1);

	while (set->slots[at].hash && set->slots[at].hash != hash)
		at = (at + 1) & (set->n_slots - 1);
	return &set->slots[at];
}

static int grow_contexts(struct context_set *set)
{
	struct context_set larger = {.n_slots = set->n_slots ? set->n_slots * 2 : 4096};

	larger.slots = calloc(larger.n_slots, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->n_slots; i++)
		if (set->slots[i].hash)
			*find_context(&larger, set->slots[i].hash) = set->slots[i];
	free(set->slots);
	*set = larger;
	return 0;
}

/* The chain's number; 0: no memory. */
static uint32_t number_context(struct decoder *d)
{
	struct numbered *found;
	uint64_t hash = hash_context(&d->context);

	if ((size_t)d->p->in->n_contexts * 2 >= d->contexts.n_slots && grow_contexts(&d->contexts))
		return 0;
	found = find_context(&d->contexts, hash);
	if (!found->hash)
		*found = (struct numbered){hash, ++d->p->in->n_contexts};
	return found->number;
}

static uint64_t hash_leaf(const struct leaf *l)
{
	uint64_t h = ((uint64_t)l->base << 32 | l->line) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 29 ^ l->file) * 0xff51afd7ed558ccdULL >> 16;
}

static int grow_leaves(struct decoder *d)
{
	struct leaf_set *set = &d->leaves;
	size_t want = set->n_slots ? set->n_slots * 2 : 4096;
	uint32_t *slots = calloc(want, sizeof(*slots));
	struct leaf *more = reallocarray(d->p->leaves, want / 2, sizeof(*more));

	if (more)
		d->p->leaves = more;
	if (!slots || !more) {
		free(slots);
		return -ENOMEM;
	}
	for (size_t i = 0; i < d->p->n_leaves; i++) {
		size_t at = hash_leaf(&more[i]) & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = i + 1;
	}
	free(set->slots);
	set->slots = slots;
	set->n_slots = want;
	return 0;
}

/* UINT32_MAX: no memory. */
static uint32_t find_leaf(struct decoder *d, uint32_t node, uint32_t file, uint32_t line)
{
	struct leaf key = {.base = node, .node = node, .file = file, .line = line};
	struct leaf_set *set = &d->leaves;
	size_t at;

	if (d->p->n_leaves * 2 >= set->n_slots && grow_leaves(d))
		return UINT32_MAX;
	for (at = hash_leaf(&key) & (set->n_slots - 1); set->slots[at]; at = (at + 1) & (set->n_slots - 1)) {
		const struct leaf *l = &d->p->leaves[set->slots[at] - 1];

		if (l->base == node && l->file == file && l->line == line)
			return set->slots[at] - 1;
	}
	d->p->leaves[d->p->n_leaves] = key;
	set->slots[at] = ++d->p->n_leaves;
	return d->p->n_leaves - 1;
}

int profile_decode_raw(const struct profile *p, const struct raw_sample *raw, uint64_t r11, uint32_t space,
		       struct context *ctx)
{
	struct flat_stack *stack = &p->in->stack;
	struct pcce_sample s = raw->sample;
	int err = segments_flatten(raw->below, &raw->sample, stack);

	s.r11 = r11;
	return err ? err : decode_context(spaces_get(p->in->spaces, space), &s, stack->entries, stack->n, false, ctx);
}

/* Decodes a raw sample in a space in which it was not met before. */
static int meet(struct decoder *d, const struct sample *s, uint32_t space)
{
	struct internals *in = d->p->in;
	const struct address_space *as = spaces_get(in->spaces, space);
	struct decoded *to = &in->decoded[in->n_decoded];
	const struct pcce_sample *raw = &s->raw->sample;
	struct tree_line line = {0};
	uint32_t node = 0;
	int r = profile_decode_raw(d->p, s->raw, s->r11, space, &d->context);

	if (r)
		return r;
	*to = (struct decoded){
		.next = s->raw->decoded,
		.raw = s->raw,
		.r11 = s->r11,
		.depth = d->context.depth,
		.space = space,
		.status = d->context.status,
		.reason = d->context.reason,
		.verify = verify_context(as, raw, sample_stack(raw), &d->context),
		.needs_r11 = decode_needs_r11(as, raw->ip),
	};
	if (d->builder) {
		node = tree_builder_add(d->builder, as, &d->context, raw->flags & PCCE_SAMPLE_KERNEL, raw->kip, &line);
		if (node == UINT32_MAX)
			return -ENOMEM;
		if (!d->options->lines)
			line = (struct tree_line){0};
	}
	to->leaf = find_leaf(d, node, line.file, line.line);
	if (to->leaf == UINT32_MAX)
		return -ENOMEM;
	in->n_decoded++;
	s->raw->decoded = to;
	if (to->status == DECODE_OUTSIDE || to->status == DECODE_UNDECODABLE)
		return 0;
	to->context = number_context(d);
	return to->context ? 0 : -ENOMEM;
}

static struct decoded *find_decoded(const struct sample *s, uint32_t space)
{
	struct decoded *d;

	for (d = s->raw->decoded; d; d = d->next)
		if (d->space == space && (!d->needs_r11 || d->r11 == s->r11))
			break;
	return d;
}

/* Numbers of threads are not those of streams: a thread has several, and is renamed. */
static int number_threads(struct profile *p)
{
	size_t n = streams_count(p->streams);

	p->in->thread_of = malloc(n * sizeof(*p->in->thread_of) + 1);
	if (!p->in->thread_of)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct stream *s = streams_get(p->streams, i);

		p->in->thread_of[i] = threads_number(&p->threads, s->pid, s->tid);
	}
	return 0;
}

int profile_decode(struct profile *p, const struct profile_options *o)
{
	struct decoder d = {.p = p, .options = o};
	struct internals *in = p->in;
	int r = 0;

	/* At most one each, and then nothing ever moves. */
	in->decoded = calloc(in->samples.n + 1, sizeof(*in->decoded));
	if (o->tree)
		d.builder = tree_builder_new(&in->all, p->names, o->inlining);
	if (!in->decoded || (o->tree && !d.builder))
		r = -ENOMEM;
	for (size_t i = 0; i < in->samples.n && !r; i++) {
		struct sample *s = &in->samples.list[i];
		uint32_t space = spaces_at(in->spaces, streams_get(p->streams, s->stream)->pid, s->time);
		struct decoded *found;

		progress("decoding", i, in->samples.n);
		if (space == UINT32_MAX) {
			r = -ENOMEM;
			break;
		}
		found = find_decoded(s, space);
		if (!found) {
			r = meet(&d, s, space);
			found = s->raw->decoded;
		}
		s->decoded = found;
		s->stream = streams_at(p->streams, s->stream, s->time);
	}
	context_free(&d.context);
	tree_builder_free(d.builder);
	free(d.contexts.slots);
	free(d.leaves.slots);
	return r ? r : number_threads(p);
}
