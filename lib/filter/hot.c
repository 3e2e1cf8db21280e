/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts contexts. A context that is kept has an element in a hash table, whose address is its name
 * in the counters. When the counters of some contexts have become free, their elements are freed.
 * Then, if many encoding stacks were met since the last time, those that nothing needs are freed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/uthash.h"
#include "hot/misra_gries.h"
#include "merge/summary.h"
#include "merge/sums.h"
#include "filter/hot.h"

#define SWEEP_AFTER 4096 /* new segments */

struct hot_context {
	UT_hash_handle hh;
	uint64_t key[2];
	uint64_t samples;
	struct hot_context *next; /* in the same part */
	uint64_t low, error;	  /* in the part */
	bool in_part;
	const struct stack_node *below;
	struct pcce_sample sample; /* the first one; its entries follow */
};

/* What a place of the sampler counts. It needs no counter here: its context gets one again. */
struct hot_place {
	uint64_t key[2], mixed[2]; /* mixed: once the epoch has ended; 0, 0: not needed yet */
	const struct stack_node *below;
	uint32_t epoch;
	struct pcce_sample *sample; /* NULL: nothing */
};

struct hot_recorder {
	struct hot_parameters parameters;
	bool lossy;
	struct misra_gries counters;
	struct hot_context *contexts;
	struct address_spaces *spaces;
	struct context_keys *keys;
	struct stack_store *stacks;
	size_t swept; /* segments after the last sweep */
	uint64_t samples;
	uint64_t begin; /* time of the first sample; 0: none yet */
	struct hot_place *places;
	uint32_t n_places;
	/* A summary that is being added: */
	struct hot_part {
		struct hot_context *first;
		size_t n;
		uint64_t total, missing, nameless;
		struct misra_gries counters; /* k 0: not needed yet */
	} part;
};

struct hot_recorder *hot_recorder_new(const struct record_modules *m,
				      const struct hot_parameters *p, bool lossy)
{
	struct hot_recorder *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->parameters = *p;
	h->lossy = lossy;
	h->spaces = record_modules_spaces(m);
	h->keys = context_keys_new(m);
	h->stacks = stack_store_new();
	if (h->spaces && h->keys && h->stacks && !misra_gries_init(&h->counters, p->epsilon))
		return h;
	hot_recorder_free(h);
	return NULL;
}

void hot_recorder_free(struct hot_recorder *h)
{
	struct hot_context *c, *next;

	if (!h)
		return;
	HASH_ITER (hh, h->contexts, c, next) {
		HASH_DEL(h->contexts, c);
		free(c);
	}
	for (uint32_t i = 0; i < h->n_places; i++)
		free(h->places[i].sample);
	free(h->places);
	misra_gries_free(&h->counters);
	if (h->part.counters.k)
		misra_gries_free(&h->part.counters);
	address_spaces_free(h->spaces);
	context_keys_free(h->keys);
	stack_store_free(h->stacks);
	free(h);
}

int hot_recorder_process(struct hot_recorder *h, const struct pcce_rec_process *p)
{
	return address_spaces_add_process(h->spaces, p);
}

int hot_recorder_map(struct hot_recorder *h, const struct pcce_rec_map *map)
{
	return address_spaces_add_map(h->spaces, map);
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

static void sweep_stacks(struct hot_recorder *h)
{
	if (stack_store_count(h->stacks) < 2 * h->swept + SWEEP_AFTER)
		return;
	for (const struct hot_context *c = h->contexts; c; c = c->hh.next)
		stack_store_keep(c->below);
	for (uint32_t i = 0; i < h->n_places; i++)
		stack_store_keep(h->places[i].below);
	stack_store_sweep(h->stacks);
	h->swept = stack_store_count(h->stacks);
}

static struct hot_context *add_context(struct hot_recorder *h, const struct pcce_sample *s,
				       const struct stack_node *below, const uint64_t key[2])
{
	size_t entries = s->n_entries * sizeof(struct pcce_entry);
	struct hot_context *c = calloc(1, sizeof(*c) + entries);

	if (!c)
		return NULL;
	memcpy(c->key, key, sizeof(c->key));
	c->below = below;
	memcpy(&c->sample, s, sizeof(*s) + entries);
	c->sample.n_segments = c->sample.n_stack = 0;
	c->sample.weight = 0;
	c->sample.sp = 0;
	c->sample.flags &= ~(PCCE_SAMPLE_COUNTED | PCCE_SAMPLE_TRUNCATED);
	c->sample.flags |= PCCE_SAMPLE_IP_MIXED;
	HASH_ADD(hh, h->contexts, key, sizeof(c->key), c);
	if (!hash_added(c)) {
		free(c);
		return NULL;
	}
	return c;
}

/* The context of this key, of which s is a sample; NULL: no memory. */
static struct hot_context *context_of_key(struct hot_recorder *h, const struct pcce_sample *s,
					  const struct stack_node *below, const uint64_t key[2])
{
	struct hot_context *c;

	HASH_FIND(hh, h->contexts, key, 2 * sizeof(*key), c);
	if (!c)
		c = add_context(h, s, below, key);
	if (c && (c->sample.tid != s->tid || c->sample.pid != s->pid))
		c->sample.tid = 0;
	return c;
}

/* 0 or -ENOMEM. */
static int find_key(struct hot_recorder *h, const struct pcce_sample *s,
		    const struct stack_node *below, uint64_t key[2])
{
	uint64_t layout = 0;
	const struct decode_space *as = address_spaces_now(h->spaces, s->pid, &layout);
	int r = as ? context_keys_find(h->keys, as, layout, s, below, key) : -ENOMEM;

	h->begin = h->begin ? h->begin : s->time;
	if (!r && h->parameters.per_thread)
		context_keys_add_thread(key, s, h->begin);
	return r;
}

/* The context of a sample; NULL: no memory. */
static struct hot_context *find_context(struct hot_recorder *h, const struct pcce_sample *s)
{
	const struct stack_node *below;
	uint64_t key[2];

	if (stack_store_take(h->stacks, s, &below) || find_key(h, s, below, key))
		return NULL;
	return context_of_key(h, s, below, key);
}

static int count_in_context(struct hot_recorder *h, struct hot_context *c, uint64_t samples,
			    uint64_t weight)
{
	uint64_t offset = h->counters.offset;
	int r = c ? misra_gries_add(&h->counters, counter_name(c), weight) : -ENOMEM;

	if (r)
		return r;
	c->samples += samples;
	h->samples += samples;
	if (h->counters.offset != offset)
		drop_cold(h);
	sweep_stacks(h);
	return 0;
}

int hot_recorder_sample(struct hot_recorder *h, const struct pcce_sample *s)
{
	return hot_recorder_add_equal(h, s, s->flags & PCCE_SAMPLE_COUNTED ? s->sp : 1,
				      s->weight ? s->weight : 1);
}

int hot_recorder_add_equal(struct hot_recorder *h, const struct pcce_sample *s, uint64_t samples,
			   uint64_t weight)
{
	return count_in_context(h, find_context(h, s), samples, weight);
}

/* ---- places of the sampler --------------------------------------------------------- */

/* Returns the place, empty; NULL: no memory. */
static struct hot_place *clear_place(struct hot_recorder *h, uint32_t place)
{
	struct hot_place *p;

	if (place >= h->n_places) {
		uint32_t n = place + 1 > 2 * h->n_places ? place + 1 : 2 * h->n_places;

		p = reallocarray(h->places, n, sizeof(*p));
		if (!p)
			return NULL;
		memset(p + h->n_places, 0, (n - h->n_places) * sizeof(*p));
		h->places = p;
		h->n_places = n;
	}
	p = &h->places[place];
	free(p->sample);
	*p = (struct hot_place){0};
	return p;
}

int hot_recorder_claim(struct hot_recorder *h, const struct pcce_sample *s, uint32_t place,
		       uint32_t epoch)
{
	size_t size = sizeof(*s) + s->n_entries * sizeof(struct pcce_entry);
	struct hot_place *p = clear_place(h, place);
	const struct stack_node *below;
	struct pcce_sample *copy = malloc(size);
	uint64_t key[2];

	if (!p || !copy || stack_store_take(h->stacks, s, &below) || find_key(h, s, below, key)) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, s, size);
	copy->n_segments = 0;
	*p = (struct hot_place){
		.key = {key[0], key[1]}, .below = below, .epoch = epoch, .sample = copy};
	return count_in_context(h, context_of_key(h, s, below, key), 1, s->weight ? s->weight : 1);
}

const struct pcce_sample *hot_recorder_place(const struct hot_recorder *h, uint32_t place)
{
	return place < h->n_places ? h->places[place].sample : NULL;
}

int hot_recorder_counted(struct hot_recorder *h, uint32_t place, uint64_t samples, uint64_t weight)
{
	struct hot_place *p = place < h->n_places ? &h->places[place] : NULL;
	const uint64_t *key;

	if (!p || !p->sample)
		return -EPROTO;
	key = p->key;
	if (address_spaces_epoch(h->spaces, p->sample->pid) != p->epoch) {
		if (!p->mixed[0] && !p->mixed[1]) {
			p->sample->flags |= PCCE_SAMPLE_MIXED;
			if (find_key(h, p->sample, p->below, p->mixed))
				return -ENOMEM;
		}
		key = p->mixed;
	}
	return count_in_context(h, context_of_key(h, p->sample, p->below, key), samples, weight);
}

struct address_spaces *hot_recorder_spaces(struct hot_recorder *h)
{
	return h->spaces;
}

struct context_keys *hot_recorder_keys(struct hot_recorder *h)
{
	return h->keys;
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

int hot_recorder_begin_summary(struct hot_recorder *h, uint64_t missing, uint64_t nameless)
{
	int r = end_part(h);

	h->part.missing = missing;
	h->part.total = h->part.nameless = nameless;
	return r;
}

int hot_recorder_add(struct hot_recorder *h, const struct pcce_sample *s, uint64_t weight,
		     uint64_t error)
{
	struct hot_part *p = &h->part;
	struct hot_context *c = find_context(h, s);

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
	c->low += s->sp;
	c->error = c->error + error < p->missing ? c->error + error : p->missing;
	p->total += weight;
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

static void keep_number(const void *ctx, struct pcce_sample *s)
{
	(void)ctx;
	(void)s;
}

int hot_recorder_write(struct hot_recorder *h, struct datafile_writer *w, uint64_t time)
{
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
		.time = time,
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
					   c->below, &context);
	}
	if (!r) {
		merge_sums_set_judge(sums, judge_context, h);
		r = merge_sums_write(sums, w, keep_number, NULL);
	}
	merge_sums_free(sums);
	return r ? r : summary_write(&t, w);
}
