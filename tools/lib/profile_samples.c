/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Single samples, twenty bytes each: as columns, since there can be many millions and
 * most uses look at a few of the fields only.  What those at one instruction of one context have in
 * common is kept once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/numbers.h"
#include "tools/lib/profile_internal.h"

#define KEY_BYTES offsetof(struct instruction, leaf)

/* ---- leaves ---------------------------------------------------------------------- */

static uint64_t hash_leaf(const struct leaf *l)
{
	uint64_t h = ((uint64_t)l->base << 32 | l->line) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 29 ^ l->file) * 0xff51afd7ed558ccdULL >> 16;
}

static int rehash_leaves(struct profile *p)
{
	struct internals *in = p->in;
	size_t want = in->n_leaf_slots ? in->n_leaf_slots * 2 : 4096;
	uint32_t *slots = calloc(want, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_leaves; i++) {
		size_t at = hash_leaf(&p->leaves[i]) & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = i + 1;
	}
	free(in->leaf_slots);
	in->leaf_slots = slots;
	in->n_leaf_slots = want;
	return 0;
}

/* UINT32_MAX: no memory. */
static uint32_t leaf_number(struct profile *p, uint32_t node, const struct tree_line *line)
{
	struct leaf key = {.base = node, .node = node, .file = line->file, .line = line->line};
	struct internals *in = p->in;
	size_t at;

	if (p->n_leaves * 4 >= in->n_leaf_slots * 3 && rehash_leaves(p))
		return UINT32_MAX;
	at = hash_leaf(&key) & (in->n_leaf_slots - 1);
	for (; in->leaf_slots[at]; at = (at + 1) & (in->n_leaf_slots - 1)) {
		const struct leaf *l = &p->leaves[in->leaf_slots[at] - 1];

		if (l->base == node && l->file == key.file && l->line == key.line)
			return in->leaf_slots[at] - 1;
	}
	if (numbers_grow(&p->leaves, p->n_leaves, sizeof(*p->leaves)))
		return UINT32_MAX;
	p->leaves[p->n_leaves] = key;
	in->leaf_slots[at] = ++p->n_leaves;
	return p->n_leaves - 1;
}

/* ---- instructions ---------------------------------------------------------------- */

static uint64_t hash(const struct instruction *i)
{
	uint64_t h = ((uint64_t)i->node << 32 | i->place) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32 ^ ((uint64_t)i->context << 32 | i->entries)) * 0xc4ceb9fe1a85ec53ULL;
	return (h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 20;
}

static int rehash(struct internals *in)
{
	size_t want = in->n_slots ? in->n_slots * 2 : 4096;
	uint32_t *slots = calloc(want, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < in->n_instructions; i++) {
		size_t at = hash(&in->instructions[i]) & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = i + 1;
	}
	free(in->slots);
	in->slots = slots;
	in->n_slots = want;
	return 0;
}

static int grow(void *array, size_t n, size_t size)
{
	void **p = array, *more = reallocarray(*p, n, size);

	if (!more)
		return -ENOMEM;
	*p = more;
	return 0;
}

/* UINT32_MAX: no memory. */
static uint32_t instruction_number(struct profile *p, const struct meaning *m, const struct decoding *lines)
{
	struct internals *in = p->in;
	struct instruction new = {
		.node = m->node,
		.place = m->place,
		.context = m->context,
		.depth = m->depth,
		.entries = m->entries,
		.status = m->status,
		.reason = m->reason,
		.verify = m->verify,
	};
	struct tree_line line = {0};
	size_t at;

	if (in->n_instructions * 4 >= in->n_slots * 3 && rehash(in))
		return UINT32_MAX;
	at = hash(&new) & (in->n_slots - 1);
	for (; in->slots[at]; at = (at + 1) & (in->n_slots - 1))
		if (!memcmp(&in->instructions[in->slots[at] - 1], &new, KEY_BYTES))
			return in->slots[at] - 1;
	if (in->n_instructions == in->instructions_capacity) {
		/* By half: these can be most of all memory. */
		size_t want = in->instructions_capacity + in->instructions_capacity / 2 + 4096;

		if (grow(&in->instructions, want, sizeof(new)))
			return UINT32_MAX;
		in->instructions_capacity = want;
	}
	/* The kernel has no lines. */
	if (lines && !(in->all.nodes[m->node].key->flags & CCT_KERNEL))
		decoding_line(lines, m->place, &line);
	new.leaf = leaf_number(p, m->node, &line);
	if (new.leaf == UINT32_MAX)
		return UINT32_MAX;
	in->instructions[in->n_instructions] = new;
	in->slots[at] = ++in->n_instructions;
	return in->n_instructions - 1;
}

/* ---- samples --------------------------------------------------------------------- */

/* What weight says of these; UINT32_MAX: no memory. */
static uint32_t pack(struct internals *in, const struct datafile_sample *s)
{
	if (s->samples == 1 && s->weight < SUM)
		return s->weight;
	if (in->n_sums >= SUM - 1 || numbers_grow(&in->sums, in->n_sums, sizeof(*in->sums)))
		return UINT32_MAX;
	in->sums[in->n_sums] = (struct sum){s->samples, s->weight};
	return SUM | in->n_sums++;
}

struct sum profile_sum(const struct internals *in, size_t sample)
{
	uint32_t weight = in->weight[sample];

	return weight & SUM ? in->sums[weight & ~SUM] : (struct sum){1, weight};
}

int profile_keep(struct profile *p, const struct meaning *m, uint32_t stream, const struct datafile_sample *s,
		 const struct decoding *lines)
{
	struct internals *in = p->in;
	uint32_t instruction = instruction_number(p, m, lines), weight = pack(in, s);

	if (instruction == UINT32_MAX || weight == UINT32_MAX || in->n_samples == UINT32_MAX)
		return -ENOMEM;
	if (in->n_samples == in->samples_capacity) {
		size_t want = in->samples_capacity + in->samples_capacity / 2 + 4096;

		if (grow(&in->instruction, want, 4) || grow(&in->stream, want, 4) || grow(&in->weight, want, 4) ||
		    grow(&in->time, want, 8))
			return -ENOMEM;
		in->samples_capacity = want;
	}
	in->instruction[in->n_samples] = instruction;
	in->stream[in->n_samples] = stream;
	in->weight[in->n_samples] = weight;
	in->time[in->n_samples] = s->sample->time;
	in->n_samples++;
	return 0;
}

void profile_settle(struct internals *in)
{
	free(in->slots);
	free(in->leaf_slots);
	in->slots = in->leaf_slots = NULL;
	in->n_slots = in->n_leaf_slots = 0;
}

void profile_forget(struct internals *in)
{
	profile_settle(in);
	free(in->places);
	free(in->instructions);
	free(in->instruction);
	free(in->stream);
	free(in->weight);
	free(in->time);
	free(in->sums);
	free(in->thread_of);
	free(in->selected);
}

size_t profile_samples(const struct profile *p)
{
	return p->in->selected ? p->in->n_selected : p->in->n_samples;
}

struct profile_sample profile_sample(const struct profile *p, size_t i)
{
	const struct internals *in = p->in;
	size_t sample = in->selected ? in->selected[i] : i;
	const struct instruction *at = &in->instructions[in->instruction[sample]];
	struct sum sum = profile_sum(in, sample);

	return (struct profile_sample){
		.time = in->time[sample],
		.depth = at->depth,
		.entries = at->entries,
		.stream = in->stream[sample],
		.thread = in->thread_of[in->stream[sample]],
		.node = p->leaves[at->leaf].node,
		.samples = sum.samples,
		.weight = sum.weight,
		.place = in->places[at->place],
		.status = at->status,
		.reason = at->reason,
	};
}
