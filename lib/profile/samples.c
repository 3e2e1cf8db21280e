/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps single samples, twenty bytes each: as columns, since there can be many millions, and most
 * uses read few of the fields. What the samples at one instruction of one context have in common is
 * kept once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "profile/profile_internal.h"

/* ---- leaves ---------------------------------------------------------------------- */

static uint64_t hash_leaf(const struct tree_leaf *l)
{
	uint64_t h = ((uint64_t)l->base << 32 | l->line) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 29 ^ l->file) * 0xff51afd7ed558ccdULL >> 16;
}

static bool is_same_leaf(const struct tree_leaf *l, const struct tree_leaf *key)
{
	return l->base == key->base && l->file == key->file && l->line == key->line;
}

HASH_TABLE_FUNCTIONS(leaf_table, uint32_t, struct tree_leaf, struct profile, *s,
		     hash_leaf(&o->leaves[*s - 1]), is_same_leaf(&o->leaves[*s - 1], key));

/* Returns the number of the only leaf of a node, where lines are not told apart. UINT32_MAX: no
 * memory. */
static uint32_t leaf_of_node(struct profile *p, uint32_t node)
{
	struct profile_internals *in = p->in;

	if (array_reach(&in->leaf_of_node, &in->leaf_of_node_capacity, node, 4096,
			sizeof(uint32_t)))
		return UINT32_MAX;
	if (in->leaf_of_node[node])
		return in->leaf_of_node[node] - 1;
	if (array_grow(&p->leaves, p->n_leaves, sizeof(*p->leaves)))
		return UINT32_MAX;
	p->leaves[p->n_leaves] = (struct tree_leaf){.base = node, .node = node};
	in->leaf_of_node[node] = ++p->n_leaves;
	return p->n_leaves - 1;
}

/* Returns the number of the leaf of a line in a node. UINT32_MAX: no memory. */
static uint32_t leaf_of_line(struct profile *p, uint32_t node, const struct tree_line *line)
{
	struct tree_leaf key = {.base = node, .node = node, .file = line->file, .line = line->line};
	uint32_t *slot = leaf_table_slot(&p->in->leaves_by_content, p, hash_leaf(&key), &key);

	if (!slot)
		return UINT32_MAX;
	if (*slot)
		return *slot - 1;
	if (array_grow(&p->leaves, p->n_leaves, sizeof(*p->leaves)))
		return UINT32_MAX;
	p->leaves[p->n_leaves] = key;
	leaf_table_fill(&p->in->leaves_by_content, slot, ++p->n_leaves);
	return p->n_leaves - 1;
}

/* ---- instructions ---------------------------------------------------------------- */

int profile_keep_instruction(struct profile *p, const struct decode_cache_meaning *m,
			     const struct decode_cache *lines)
{
	struct profile_internals *in = p->in;
	struct tree_line line = {0};
	struct profile_instruction *new;

	if (in->n_instructions == in->instructions_capacity) {
		/* Grows by half: these can be most of all memory. */
		size_t want = in->instructions_capacity + in->instructions_capacity / 2 + 4096;

		if (array_resize(&in->instructions, want, sizeof(*new)) ||
		    (!in->kept && array_resize(&in->totals, want, sizeof(*in->totals))))
			return -ENOMEM;
		in->instructions_capacity = want;
	}
	new = &in->instructions[in->n_instructions];
	*new = (struct profile_instruction){
		.node = m->node,
		.place = m->place,
		.context = m->context,
		.depth = m->depth,
		.entries = m->entries,
		.origin = m->origin,
		.status = m->status,
		.reason = m->reason,
		.verify = m->verify,
		.restored = m->restored,
		.counting = m->counting,
		.between = m->between,
	};
	if (!in->kept) {
		in->totals[in->n_instructions++] = (struct profile_sum){0};
		return 0;
	}
	/* The kernel has no lines. */
	if (lines && !(in->all.nodes[m->node].key->flags & CCT_KERNEL))
		decode_cache_line(lines, m->place, &line);
	new->leaf = lines ? leaf_of_line(p, m->node, &line) : leaf_of_node(p, m->node);
	in->n_instructions++;
	return new->leaf == UINT32_MAX ? -ENOMEM : 0;
}

/* ---- samples --------------------------------------------------------------------- */

/* Returns the weight column's value for a sample; UINT32_MAX: no memory. */
static uint32_t pack_weight(struct profile_internals *in, const struct stream_event *s)
{
	if (s->samples == 1 && !s->error && s->weight < PROFILE_SUM)
		return s->weight;
	if (in->n_sums >= PROFILE_SUM - 1 || array_grow(&in->sums, in->n_sums, sizeof(*in->sums)))
		return UINT32_MAX;
	in->sums[in->n_sums] = (struct profile_sum){s->samples, s->weight, s->error};
	return PROFILE_SUM | in->n_sums++;
}

struct profile_sum profile_unpack(const struct profile_internals *in, uint32_t weight)
{
	return weight & PROFILE_SUM ? in->sums[weight & ~PROFILE_SUM]
				    : (struct profile_sum){1, weight, 0};
}

struct profile_sum profile_sum(const struct profile_internals *in, size_t sample)
{
	return profile_unpack(in, in->weight[sample]);
}

COMPARE_BY1(compare_waits, struct profile_wait, sample);

static int keep_wait(struct profile_internals *in, const struct pcce_wait *wait)
{
	if (array_grow(&in->waits, in->n_waits, sizeof(*in->waits)))
		return -ENOMEM;
	in->waits[in->n_waits++] = (struct profile_wait){in->n_samples, UINT32_MAX, *wait};
	return 0;
}

COMPARE_BY1(compare_durations, struct profile_durations, sample);

static int keep_durations(struct profile_internals *in, const struct pcce_durations *d)
{
	size_t size = sizeof(*d) + d->n * sizeof(struct pcce_duration_count);
	struct pcce_durations *copy = malloc(size);

	if (!copy || array_grow(&in->durations, in->n_durations, sizeof(*in->durations))) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, d, size);
	in->durations[in->n_durations++] = (struct profile_durations){in->n_samples, copy};
	return 0;
}

int profile_keep(struct profile_internals *in, uint32_t instruction, uint32_t stream,
		 const struct stream_event *s)
{
	uint32_t weight = pack_weight(in, s);

	if (weight == UINT32_MAX || in->n_samples == UINT32_MAX)
		return -ENOMEM;
	if ((s->wait && keep_wait(in, s->wait)) ||
	    (s->durations && keep_durations(in, s->durations)))
		return -ENOMEM;
	if (in->n_samples == in->samples_capacity) {
		size_t want = in->samples_capacity + in->samples_capacity / 2 + 4096;

		if (array_resize(&in->instruction, want, 4) || array_resize(&in->stream, want, 4) ||
		    array_resize(&in->weight, want, 4) || array_resize(&in->time, want, 8))
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

void profile_settle(struct profile_internals *in)
{
	leaf_table_free(&in->leaves_by_content);
	free(in->leaf_of_node);
	in->leaf_of_node = NULL;
	in->leaf_of_node_capacity = 0;
}

void profile_forget(struct profile_internals *in)
{
	profile_settle(in);
	free(in->places);
	free(in->instructions);
	free(in->totals);
	free(in->instruction);
	free(in->stream);
	free(in->weight);
	free(in->time);
	free(in->sums);
	free(in->waits);
	for (size_t i = 0; i < in->n_durations; i++)
		free(in->durations[i].of);
	free(in->durations);
	free(in->node_of);
	free(in->thread_of);
	free(in->selected);
}

size_t profile_samples(const struct profile *p)
{
	return p->in->selected ? p->in->n_selected : p->in->n_samples;
}

struct profile_sample profile_sample(const struct profile *p, size_t i)
{
	const struct profile_internals *in = p->in;
	size_t sample = in->selected ? in->selected[i] : i;
	const struct profile_instruction *at = &in->instructions[in->instruction[sample]];
	struct profile_sum sum = profile_sum(in, sample);

	return (struct profile_sample){
		.time = in->time[sample],
		.depth = at->depth,
		.entries = at->entries,
		.stream = in->stream[sample],
		.thread = in->thread_of[in->stream[sample]],
		.event = profile_stream_event(p, in->stream[sample]),
		.node = in->node_of[in->instruction[sample]],
		.samples = sum.samples,
		.weight = sum.weight,
		.place = in->places[at->place],
		.instruction = in->instruction[sample],
		.leaf = at->leaf,
		.status = at->status,
		.reason = at->reason,
	};
}

const struct pcce_wait *profile_sample_wait(const struct profile *p, size_t i, uint32_t *holder)
{
	const struct profile_internals *in = p->in;
	const struct profile_wait key = {.sample = in->selected ? in->selected[i] : i};
	const struct profile_wait *found =
		in->n_waits ? bsearch(&key, in->waits, in->n_waits, sizeof(key), compare_waits)
			    : NULL;

	*holder = found && found->holder != UINT32_MAX ? in->node_of[in->instruction[found->holder]]
						       : UINT32_MAX;
	return found ? &found->wait : NULL;
}

const struct pcce_durations *profile_sample_durations(const struct profile *p, size_t i)
{
	const struct profile_internals *in = p->in;
	const struct profile_durations key = {.sample = in->selected ? in->selected[i] : i};
	const struct profile_durations *found =
		in->n_durations ? bsearch(&key, in->durations, in->n_durations, sizeof(key),
					  compare_durations)
				: NULL;

	return found ? found->of : NULL;
}

struct profile_moment profile_moment(const struct profile *p, size_t i)
{
	const struct profile_internals *in = p->in;
	size_t sample = in->selected ? in->selected[i] : i;
	struct profile_sum sum = profile_sum(in, sample);

	return (struct profile_moment){
		.time = in->time[sample],
		.samples = sum.samples,
		.weight = sum.weight,
		.instruction = in->instruction[sample],
	};
}

uint32_t profile_instruction_node(const struct profile *p, uint32_t instruction)
{
	return p->in->node_of[instruction];
}
