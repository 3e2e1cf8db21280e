/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Samples in other orders: by node, place and thread, added up; and by thread and time. */
#include <errno.h>
#include <stdlib.h>
#include "tools/lib/profile_internal.h"

int profile_instructions(const struct profile *p, int (*each)(void *ctx, const struct profile_cell *cell), void *ctx)
{
	const struct internals *in = p->in;
	int r = 0;

	for (size_t i = 0; i < in->n_instructions && !r; i++) {
		const struct instruction *at = &in->instructions[i];
		struct profile_cell cell = {.node = p->leaves[at->leaf].node, .place = in->places[at->place]};

		if (cell.node != UINT32_MAX)
			r = each(ctx, &cell);
	}
	return r;
}

/* Positions of the elements ordered by their key, which is below n_keys - 1: a counting sort. first, of
 * n_keys + 1, says where each key's begin. */
static void order(const uint32_t *key, size_t n, uint32_t *first, size_t n_keys, uint32_t *ordered)
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

struct member {
	uint32_t place, thread, sample;
};

struct cells {
	const struct profile *p;
	struct member *group; /* samples that end in one node */
	size_t n, capacity;
	int (*each)(void *ctx, const struct profile_cell *cell);
	void *ctx;
};

static int in_order(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static int flush(struct cells *c, uint32_t node)
{
	const struct internals *in = c->p->in;
	int r = 0;

	if (c->n > 1)
		qsort(c->group, c->n, sizeof(*c->group), in_order);
	for (size_t i = 0; i < c->n && !r;) {
		uint32_t place = c->group[i].place;
		struct profile_cell cell = {.node = node, .thread = c->group[i].thread, .place = in->places[place]};

		for (; i < c->n && c->group[i].place == place && c->group[i].thread == cell.thread; i++) {
			struct sum sum = profile_sum(in, c->group[i].sample);

			cell.weight += sum.weight;
			cell.samples += sum.samples;
		}
		r = c->each(c->ctx, &cell);
	}
	c->n = 0;
	return r;
}

/* nodes: of each selected sample. */
static int walk(struct cells *c, const uint32_t *nodes, const uint32_t *ordered, size_t n)
{
	const struct internals *in = c->p->in;
	int r = 0;

	for (size_t i = 0; i < n && !r; i++) {
		size_t sample = in->selected ? in->selected[ordered[i]] : ordered[i];

		if (c->n == c->capacity) {
			size_t want = c->capacity ? c->capacity * 2 : 1024;
			struct member *more = reallocarray(c->group, want, sizeof(*more));

			if (!more)
				return -ENOMEM;
			c->group = more;
			c->capacity = want;
		}
		c->group[c->n++] = (struct member){
			.place = in->instructions[in->instruction[sample]].place,
			.thread = in->thread_of[in->stream[sample]],
			.sample = sample,
		};
		if (i + 1 == n || nodes[ordered[i + 1]] != nodes[ordered[i]])
			r = flush(c, nodes[ordered[i]]);
	}
	return r;
}

int profile_cells(const struct profile *p, int (*each)(void *ctx, const struct profile_cell *cell), void *ctx)
{
	const struct internals *in = p->in;
	size_t n = profile_samples(p);
	uint32_t *first = malloc((p->tree.n + 2) * sizeof(*first));
	uint32_t *ordered = malloc((n + 1) * sizeof(*ordered));
	uint32_t *nodes = calloc(n + 1, sizeof(*nodes));
	struct cells c = {.p = p, .each = each, .ctx = ctx};
	int r = -ENOMEM;

	if (first && ordered && nodes) {
		for (size_t i = 0; i < n; i++) {
			size_t sample = in->selected ? in->selected[i] : i;

			nodes[i] = p->leaves[in->instructions[in->instruction[sample]].leaf].node;
		}
		order(nodes, n, first, p->tree.n + 1, ordered);
		free(first);
		first = NULL;
		r = walk(&c, nodes, ordered, n);
	}
	free(first);
	free(ordered);
	free(nodes);
	free(c.group);
	return r;
}

/* ---- threads --------------------------------------------------------------------- */

struct moment {
	uint64_t time;
	uint32_t sample;
};

static int by_time(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->sample < y->sample ? -1 : x->sample > y->sample;
}

static uint64_t time_of(const struct internals *in, uint32_t i)
{
	return in->time[in->selected ? in->selected[i] : i];
}

/* Those of one thread; they nearly always are in order. */
static int sort_by_time(const struct internals *in, uint32_t *samples, size_t n)
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
	qsort(moments, n, sizeof(*moments), by_time);
	for (i = 0; i < n; i++)
		samples[i] = moments[i].sample;
	free(moments);
	return 0;
}

int profile_by_thread(const struct profile *p, uint32_t **first, uint32_t **samples)
{
	const struct internals *in = p->in;
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
		order(key, count, *first, n + 1, *samples);
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
