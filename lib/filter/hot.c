/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts contexts. A context that is kept has an element in a hash table, whose address is its name
 * in the counters. When the counters of some contexts have become free, their elements are freed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/clock.h"
#include "base/uthash.h"
#include "hot/misra_gries.h"
#include "merge/summary.h"
#include "merge/sums.h"
#include "filter/hot.h"

struct hot_context {
	UT_hash_handle hh;
	uint64_t key[2];
	uint64_t samples;
	struct hot_context *next; /* in the same part */
	uint64_t low, error;	  /* in the part */
	bool in_part;
	const struct stack_node *below;
	const struct kernel_stack *kernel;
	struct pcce_sample sample; /* the first one; its entries follow */
};

struct hot_recorder {
	struct stream stream;
	struct datafile_writer *writer;
	struct hot_parameters parameters;
	bool lossy;
	struct misra_gries counters;
	struct hot_context *contexts;
	struct address_spaces *spaces;
	struct context_keys *keys;
	uint64_t samples;
	uint64_t begin; /* time of the first sample; 0: none yet */
	/* A summary that is being added: */
	struct hot_part {
		struct hot_context *first;
		size_t n;
		uint64_t total, missing, nameless;
		struct misra_gries counters; /* k 0: not needed yet */
	} part;
};

static struct hot_recorder *hot_of(struct stream *s)
{
	return (struct hot_recorder *)s;
}

/* ---- counting -------------------------------------------------------------------- */

static uint64_t counter_name(const struct hot_context *c)
{
	return (uintptr_t)c;
}

static bool has_counter(const struct hot_recorder *h, const struct hot_context *c)
{
	return item_table_find(&h->counters.table, h->counters.of, counter_name(c)) != UINT32_MAX;
}

/* Frees contexts without counters. */
static void drop_cold(struct hot_recorder *h)
{
	struct hot_context *c, *next;

	HASH_ITER (hh, h->contexts, c, next) {
		if (!has_counter(h, c)) {
			HASH_DEL(h->contexts, c);
			free(c);
		}
	}
}

static int keep_stacks(struct stream *s)
{
	for (const struct hot_context *c = hot_of(s)->contexts; c; c = c->hh.next)
		stack_store_keep(c->below);
	return stream_pass(s->next, keep);
}

static struct hot_context *add_context(struct hot_recorder *h, const struct stream_event *e,
				       const uint64_t key[2])
{
	const struct pcce_sample *s = e->sample;
	size_t entries = s->n_entries * sizeof(struct pcce_entry);
	struct hot_context *c = calloc(1, sizeof(*c) + entries);

	if (!c)
		return NULL;
	memcpy(c->key, key, sizeof(c->key));
	c->below = e->below;
	c->kernel = e->kernel;
	memcpy(&c->sample, s, sizeof(*s) + entries);
	c->sample.n_segments = c->sample.n_stack = 0;
	c->sample.weight = 0;
	c->sample.sp = 0;
	c->sample.flags &= ~(PCCE_SAMPLE_COUNTED | PCCE_SAMPLE_TRUNCATED);
	c->sample.flags |= PCCE_SAMPLE_IP_MIXED;
	if (!hash_add(h->contexts, key, c))
		return NULL;
	return c;
}

/* The context of a sample; NULL: no memory. */
static struct hot_context *find_context(struct hot_recorder *h, struct stream_event *e)
{
	const struct pcce_sample *s = e->sample;
	uint64_t layout = 0, key[2];
	const struct decode_space *as = address_spaces_now(h->spaces, s->pid, &layout);
	struct hot_context *c;

	if (!as || context_keys_find(h->keys, as, layout, e, key))
		return NULL;
	h->begin = h->begin ? h->begin : s->time;
	if (h->parameters.per_thread)
		context_keys_add_thread(key, s, h->begin);
	HASH_FIND(hh, h->contexts, key, sizeof(key), c);
	if (!c)
		c = add_context(h, e, key);
	if (c && (c->sample.tid != s->tid || c->sample.pid != s->pid))
		c->sample.tid = 0;
	return c;
}

static int hot_event(struct stream *s, struct stream_event *e)
{
	struct hot_recorder *h = hot_of(s);
	uint64_t offset = h->counters.offset;
	struct hot_context *c = find_context(h, e);
	int r = c ? misra_gries_add(&h->counters, counter_name(c), e->weight) : -ENOMEM;

	if (r)
		return r;
	c->samples += e->samples;
	h->samples += e->samples;
	if (h->counters.offset != offset)
		drop_cold(h);
	return 0;
}

/* ---- whole summaries ------------------------------------------------------------- */

/* Makes a summary of the part, without what it says of contexts that it may have missed, too. */
static int fill_part(const struct hot_recorder *h, struct misra_gries *m)
{
	const struct hot_part *p = &h->part;
	int r = m->k ? 0 : misra_gries_init(m, h->parameters.epsilon);

	r = r ? r : misra_gries_begin(m, p->total, p->missing);
	r = r ? r : misra_gries_reserve(m, p->n);
	for (struct hot_context *c = p->first; c && !r; c = c->next)
		if (c->low + c->error > p->missing)
			r = misra_gries_restore(m, counter_name(c), c->low, c->error);
	return r;
}

static int end_part(struct hot_recorder *h)
{
	struct hot_part *p = &h->part;
	bool whole = !p->missing && !p->nameless;
	int r = whole ? 0 : fill_part(h, &p->counters);

	/*
	 * Summaries of Lossy Counting add up. To subtract would add epsilon N to what they may be
	 * wrong already.
	 */
	if (!r && h->lossy)
		r = misra_gries_reserve(&h->counters, h->counters.n + p->n);
	if (!r && !whole)
		r = misra_gries_merge(&h->counters, &p->counters);
	for (struct hot_context *c = p->first; c; c = c->next) {
		if (!r && whole)
			r = misra_gries_add(&h->counters, counter_name(c), c->low);
		c->samples += c->low;
		c->in_part = false;
	}
	h->samples += p->total;
	p->first = NULL;
	p->n = 0;
	p->total = p->missing = p->nameless = 0;
	if (h->counters.offset)
		drop_cold(h);
	return r;
}

static int begin_part(struct stream *s, uint64_t missing, uint64_t nameless)
{
	struct hot_recorder *h = hot_of(s);
	int r = end_part(h);

	h->part.missing = missing;
	h->part.total = h->part.nameless = nameless;
	return r;
}

static int add_to_part(struct stream *s, struct stream_event *e)
{
	struct hot_recorder *h = hot_of(s);
	struct hot_part *p = &h->part;
	struct hot_context *c = find_context(h, e);

	if (!c)
		return -ENOMEM;
	if (!c->in_part) {
		c->in_part = true;
		c->next = p->first;
		c->low = c->error = 0;
		p->first = c;
		p->n++;
	}
	/*
	 * Several contexts of the engine may be one here: a signal handler's, which it tells apart
	 * by the interrupted instruction, and undecodable ones. Their weight is a lower bound only.
	 */
	c->low += e->samples;
	c->error = c->error + e->error < p->missing ? c->error + e->error : p->missing;
	p->total += e->weight;
	return 0;
}

/* ---- writing --------------------------------------------------------------------- */

static int end_all(struct hot_recorder *h)
{
	int r = end_part(h);

	if (!r && h->lossy) {
		misra_gries_shrink(&h->counters);
		drop_cold(h);
	}
	return r;
}

static bool judge_context(void *ctx, const uint64_t key[2], uint64_t *error)
{
	const struct hot_recorder *h = ctx;
	struct hot_context *c;

	HASH_FIND(hh, h->contexts, key, 2 * sizeof(*key), c);
	*error = c ? misra_gries_error(&h->counters, counter_name(c)) : 0;
	return c;
}

static int write_hot(struct stream *s)
{
	struct hot_recorder *h = hot_of(s);
	struct merge_sums *sums = merge_sums_new();
	int r = sums ? end_all(h) : -ENOMEM;
	struct summary_totals t = {
		.hot = {.phi = h->parameters.phi,
			.epsilon = h->parameters.epsilon,
			.samples = h->samples,
			.weight = h->counters.total,
			.offset = h->counters.offset,
			.counters = h->counters.k,
			.per_thread = h->parameters.per_thread},
		.time = clock_ns(CLOCK_MONOTONIC),
	};

	for (const struct hot_context *c = h->contexts; c && !r; c = c->hh.next) {
		struct merge_context context = {
			.key = {c->key[0], c->key[1]},
			.samples = c->samples,
			.weight = misra_gries_low(&h->counters, counter_name(c)),
		};

		t.kept_samples += context.samples;
		t.kept_weight += context.weight;
		r = merge_sums_add_context(sums, &c->sample, pcce_sample_entries(&c->sample),
					   c->below, c->kernel, &context);
	}
	if (!r) {
		merge_sums_set_judge(sums, judge_context, h);
		r = merge_sums_write(sums, h->writer, NULL, NULL);
	}
	merge_sums_free(sums);
	r = r ? r : summary_write(&t, h->writer);
	return r ? r : stream_pass(s->next, end);
}

/* ---- the stage ------------------------------------------------------------------- */

static void hot_free(struct stream *s)
{
	struct hot_recorder *h = hot_of(s);

	hash_free(h->contexts, free);
	misra_gries_free(&h->counters);
	if (h->part.counters.k)
		misra_gries_free(&h->part.counters);
	free(h);
}

struct stream *hot_new(struct datafile_writer *w, struct address_spaces *spaces,
		       struct context_keys *keys, const struct hot_parameters *p, bool lossy)
{
	static const struct stream_ops ops = {
		.event = hot_event,
		.summary = begin_part,
		.summary_event = add_to_part,
		.keep = keep_stacks,
		.end = write_hot,
		.free = hot_free,
	};
	struct hot_recorder *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->stream.ops = &ops;
	h->writer = w;
	h->spaces = spaces;
	h->keys = keys;
	h->parameters = *p;
	h->lossy = lossy;
	if (!misra_gries_init(&h->counters, p->epsilon))
		return &h->stream;
	hot_free(&h->stream);
	return NULL;
}
