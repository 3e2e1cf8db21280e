/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Orders samples: adds them up by node, place, thread and event, and sorts them by thread and
 * time. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "profile/profile_internal.h"

/* Sorts indices of elements by the elements' keys, which are below n_keys - 1: a counting sort.
 * first, of n_keys + 1 elements, gets the position of the first element of each key. */
static void sort_by_count(const uint32_t *key, size_t n, uint32_t *first, size_t n_keys,
			  uint32_t *ordered)
{
	for (size_t i = 0; i <= n_keys; i++)
		first[i] = 0;
	for (size_t i = 0; i < n; i++)
		first[key[i] + 2]++;
	for (size_t i = 2; i <= n_keys; i++)
		first[i] += first[i - 1];
	for (size_t i = 0; i < n; i++)
		ordered[first[key[i] + 1]++] = i;
}

/* ---- cells ----------------------------------------------------------------------- */

/* A sample of one rank. part: number of its thread, event and labels. */
struct member {
	uint32_t part, weight;
};

/*
 * Instructions are sorted, and those at one place of one node get one rank. Samples are then
 * grouped by rank, and each group is added up by thread and event.
 */
/* What distinguishes the cells of one place. */
struct part {
	uint32_t thread, event, labels, stream;
};

struct cells {
	const struct profile *p;
	struct part *parts; /* in order; `stream` is one of them */
	uint32_t *part_of;  /* of each stream */
	uint32_t *rank;	    /* of each instruction */
	uint32_t *ordered;  /* one instruction of each rank */
	size_t n_ranks;
	uint32_t *first; /* by rank: index of its first member; one more than there are ranks */
	struct member *members;
	int (*each)(void *ctx, const struct profile_cell *cell);
	void *ctx;
};

static int compare_instruction_places(const void *a, const void *b, void *ctx)
{
	const struct profile_internals *in = ctx;
	uint32_t x = in->instructions[*(const uint32_t *)a].place,
		 y = in->instructions[*(const uint32_t *)b].place;

	return x < y ? -1 : x > y;
}

static bool same_cell(const struct profile_internals *in, uint32_t a, uint32_t b)
{
	return in->node_of[a] == in->node_of[b] &&
	       in->instructions[a].place == in->instructions[b].place;
}

/* Sorts instructions by node: those of a node are ordered[first[node]] up to first[node + 1], and
 * those not selected are last. The caller frees both arrays. 0 or -ENOMEM. */
static int order_by_node(const struct profile *p, uint32_t **first, uint32_t **ordered)
{
	const struct profile_internals *in = p->in;
	size_t n = in->n_instructions, nodes = p->tree.n;
	uint32_t *key = calloc(n + 1, sizeof(*key));

	*first = malloc((nodes + 3) * sizeof(**first));
	*ordered = malloc((n + 1) * sizeof(**ordered));
	if (key && *first && *ordered) {
		for (size_t i = 0; i < n; i++)
			key[i] = in->node_of[i] == UINT32_MAX ? nodes : in->node_of[i];
		sort_by_count(key, n, *first, nodes + 2, *ordered);
		free(key);
		return 0;
	}
	free(key);
	free(*first);
	free(*ordered);
	*first = *ordered = NULL;
	return -ENOMEM;
}

size_t profile_instruction_count(const struct profile *p)
{
	return p->in->n_instructions;
}

int profile_instructions(const struct profile *p,
			 int (*each)(void *ctx, const struct profile_cell *cell), void *ctx)
{
	const struct profile_internals *in = p->in;
	uint32_t *first, *ordered;
	int r = order_by_node(p, &first, &ordered);

	for (size_t i = 0; !r && i < first[p->tree.n]; i++) {
		const struct profile_instruction *at = &in->instructions[ordered[i]];
		struct profile_cell cell = {.node = in->node_of[ordered[i]],
					    .place = in->places[at->place],
					    .instruction = ordered[i]};

		r = each(ctx, &cell);
	}
	free(first);
	free(ordered);
	return r;
}

/* Instructions that are not selected come last, with ranks that no sample has. */
static int rank_instructions(struct cells *c)
{
	struct profile_internals *in = c->p->in;
	size_t n = in->n_instructions;
	uint32_t *first, before = 0;
	int r = order_by_node(c->p, &first, &c->ordered);

	c->rank = malloc((n + 1) * sizeof(*c->rank));
	if (r || !c->rank) {
		free(first);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->p->tree.n; i++)
		if (first[i + 1] - first[i] > 1)
			qsort_r(c->ordered + first[i], first[i + 1] - first[i], sizeof(*c->ordered),
				compare_instruction_places, in);
	for (size_t i = 0; i < n; i++) {
		uint32_t instruction = c->ordered[i];

		if (!i || !same_cell(in, before, instruction))
			c->ordered[c->n_ranks++] = instruction;
		c->rank[instruction] = c->n_ranks - 1;
		before = instruction;
	}
	free(first);
	return 0;
}

static int compare_stream_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->event != y->event)
		return x->event < y->event ? -1 : 1;
	return x->labels < y->labels ? -1 : x->labels > y->labels;
}

/* Numbers the parts of all streams, in order. */
static int number_parts(struct cells *c)
{
	const struct profile *p = c->p;
	size_t n = sample_streams_count(p->streams), parts = 0;

	c->parts = calloc(n + 1, sizeof(*c->parts));
	c->part_of = malloc((n + 1) * sizeof(*c->part_of));
	if (!c->parts || !c->part_of)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		c->parts[i] = (struct part){
			p->in->thread_of[i], profile_stream_event(p, i),
			profile_plain_labels(p, sample_streams_get(p->streams, i)->labels), i};
	qsort(c->parts, n, sizeof(*c->parts), compare_stream_parts);
	for (size_t i = 0; i < n; i++) {
		parts += i && compare_stream_parts(&c->parts[parts], &c->parts[i]);
		c->part_of[c->parts[i].stream] = parts;
		c->parts[parts] = c->parts[i];
	}
	return 0;
}

static int group_samples(struct cells *c)
{
	const struct profile_internals *in = c->p->in;
	size_t n = profile_samples(c->p);

	c->first = calloc(c->n_ranks + 2, sizeof(*c->first));
	c->members = malloc((n + 1) * sizeof(*c->members));
	if (!c->first || !c->members)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		c->first[c->rank[in->instruction[in->selected ? in->selected[i] : i]] + 2]++;
	for (size_t i = 2; i < c->n_ranks + 2; i++)
		c->first[i] += c->first[i - 1];
	for (size_t i = 0; i < n; i++) {
		size_t sample = in->selected ? in->selected[i] : i;

		c->members[c->first[c->rank[in->instruction[sample]] + 1]++] =
			(struct member){c->part_of[in->stream[sample]], in->weight[sample]};
	}
	return 0;
}

COMPARE_BY1(compare_parts, struct member, part);

/* Calls each() for all cells. */
static int give_cells(const struct cells *c)
{
	const struct profile_internals *in = c->p->in;
	int r = 0;

	for (size_t rank = 0; rank < c->n_ranks && !r; rank++) {
		struct member *m = c->members + c->first[rank],
			      *end = c->members + c->first[rank + 1];
		uint32_t instruction = c->ordered[rank];

		if (end - m > 1)
			qsort(m, end - m, sizeof(*m), compare_parts);
		while (m < end && !r) {
			uint32_t part = m->part;
			struct profile_cell cell = {
				.node = in->node_of[instruction],
				.thread = c->parts[part].thread,
				.event = c->parts[part].event,
				.labels = c->parts[part].labels,
				.instruction = instruction,
				.place = in->places[in->instructions[instruction].place]};

			for (; m < end && m->part == part; m++) {
				struct profile_sum sum = profile_unpack(in, m->weight);

				cell.weight += sum.weight;
				cell.samples += sum.samples;
			}
			r = c->each(c->ctx, &cell);
		}
	}
	return r;
}

int profile_cells(const struct profile *p, int (*each)(void *ctx, const struct profile_cell *cell),
		  void *ctx)
{
	struct cells c = {.p = p, .each = each, .ctx = ctx};
	int r = rank_instructions(&c);

	r = r ? r : number_parts(&c);
	r = r ? r : group_samples(&c);
	free(c.rank);
	c.rank = NULL;
	r = r ? r : give_cells(&c);
	free(c.rank);
	free(c.ordered);
	free(c.first);
	free(c.members);
	free(c.parts);
	free(c.part_of);
	return r;
}

/* ---- threads --------------------------------------------------------------------- */

struct moment {
	uint64_t time;
	uint32_t sample;
};

COMPARE_BY2(compare_moments, struct moment, time, sample);

static uint64_t time_of(const struct profile_internals *in, uint32_t i)
{
	return in->time[in->selected ? in->selected[i] : i];
}

/* Sorts the samples of one thread, which nearly always are in order already. 0 or -ENOMEM. */
static int sort_by_time(const struct profile_internals *in, uint32_t *samples, size_t n)
{
	struct moment *moments;
	size_t i = 1;

	while (i < n && time_of(in, samples[i - 1]) <= time_of(in, samples[i]))
		i++;
	if (i >= n)
		return 0;
	moments = malloc(n * sizeof(*moments));
	if (!moments)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		moments[i] = (struct moment){time_of(in, samples[i]), samples[i]};
	qsort(moments, n, sizeof(*moments), compare_moments);
	for (i = 0; i < n; i++)
		samples[i] = moments[i].sample;
	free(moments);
	return 0;
}

int profile_by_thread(const struct profile *p, uint32_t **first, uint32_t **samples)
{
	const struct profile_internals *in = p->in;
	size_t n = threads_count(p->threads), count = profile_samples(p);
	uint32_t *key = malloc((count + 1) * sizeof(*key));
	int r = 0;

	*first = malloc((n + 2) * sizeof(**first));
	*samples = malloc((count + 1) * sizeof(**samples));
	if (!*first || !*samples || !key) {
		r = -ENOMEM;
	} else {
		for (size_t i = 0; i < count; i++)
			key[i] = in->thread_of[in->stream[in->selected ? in->selected[i] : i]];
		sort_by_count(key, count, *first, n + 1, *samples);
	}
	free(key);
	for (size_t i = 0; i < n && !r; i++)
		r = sort_by_time(in, *samples + (*first)[i], (*first)[i + 1] - (*first)[i]);
	if (r) {
		free(*first);
		free(*samples);
		*first = *samples = NULL;
	}
	return r;
}
