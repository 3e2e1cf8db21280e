/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers contexts by their keys. The records of one file become a summary again, with the numbers
 * as its items, which is merged into that of all files.
 *
 * A context may have lost its counter in the meantime, and got another one later. What its records
 * say is true all the same, so its weight is the sum of them, and its error is smaller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/id_map.h"
#include "hot/misra_gries.h"
#include "merge/summary.h"

int summary_write(const struct summary_totals *t, struct datafile_writer *w)
{
	struct pcce_rec_hot rec = {
		.time = t->time,
		.samples = t->hot.samples,
		.weight = t->hot.weight,
		.offset = t->hot.offset,
		.counters = (uint32_t)t->hot.counters,
		.flags = t->hot.per_thread ? PCCE_HOT_PER_THREAD : 0,
	};
	struct pcce_rec_context cold = {
		.samples = t->hot.samples - t->kept_samples,
		.weight = t->hot.weight - t->kept_weight,
		.sample = {.time = t->time, .flags = PCCE_SAMPLE_COLD},
	};
	int r;

	memcpy(&rec.phi, &t->hot.phi, sizeof(rec.phi));
	memcpy(&rec.epsilon, &t->hot.epsilon, sizeof(rec.epsilon));
	r = datafile_put(w, PCCE_REC_HOT, &rec, sizeof(rec), NULL, 0);
	if (!r && cold.samples)
		r = datafile_put(w, PCCE_REC_CONTEXT, &cold, sizeof(cold), NULL, 0);
	return r;
}

/* ---- merging --------------------------------------------------------------------- */

struct item {
	uint64_t samples, weight;	  /* of all records */
	uint64_t file_weight, file_error; /* of the records of the current file */
	bool in_file;
	bool judged;
};

struct summary {
	struct recording_hot all, file;
	struct misra_gries counters; /* k 0: no file yet */
	struct id_map by_key;
	struct item *items;
	size_t n, in_file;
};

struct summary *summary_new(void)
{
	return calloc(1, sizeof(struct summary));
}

void summary_free(struct summary *s)
{
	if (!s)
		return;
	if (s->counters.k)
		misra_gries_free(&s->counters);
	id_map_free(&s->by_key);
	free(s->items);
	free(s);
}

/* Returns the number of a context; UINT32_MAX: no memory. */
static uint32_t item_number(struct summary *s, const uint64_t key[2])
{
	uint64_t words[ID_MAP_WORDS] = {key[0], key[1]};
	struct id_map_entry *e = id_map_find(&s->by_key, words);

	if (!e || e->number)
		return e ? e->number - 1 : UINT32_MAX;
	if (array_grow(&s->items, s->n, sizeof(*s->items)))
		return UINT32_MAX;
	s->items[s->n] = (struct item){0};
	id_map_fill(&s->by_key, e, words, s->n);
	return s->n++;
}

void summary_begin(struct summary *s, const struct recording_hot *hot)
{
	for (size_t i = 0; i < s->n; i++)
		s->items[i].in_file = false;
	s->in_file = 0;
	s->file = *hot;
}

int summary_add(struct summary *s, const uint64_t key[2], uint64_t samples, uint64_t weight,
		uint64_t error)
{
	uint32_t number = item_number(s, key);
	struct item *item;

	if (number == UINT32_MAX)
		return -ENOMEM;
	item = &s->items[number];
	if (!item->in_file) {
		item->file_weight = item->file_error = 0;
		s->in_file++;
	}
	item->in_file = true;
	item->file_weight += weight;
	item->file_error += error;
	item->samples += samples;
	item->weight += weight;
	return 0;
}

/* Replaces the counters of all files by fewer ones. */
static int coarsen(struct summary *s, const struct recording_hot *hot)
{
	struct misra_gries fewer;
	int r = misra_gries_init(&fewer, hot->epsilon);

	if (r)
		return r;
	if (s->counters.k) {
		r = misra_gries_merge(&fewer, &s->counters);
		misra_gries_free(&s->counters);
	}
	s->counters = fewer;
	return r;
}

/* Are all errors within epsilon N? */
static bool is_bounded(const struct summary *s)
{
	return s->counters.offset <= s->counters.total / s->counters.k;
}

int summary_end(struct summary *s)
{
	struct misra_gries file;
	int r = misra_gries_init(&file, s->file.epsilon);

	if (r)
		return r;
	r = misra_gries_reserve(&file, s->in_file);
	r = r ? r : misra_gries_begin(&file, s->file.weight, s->file.offset);
	for (size_t i = 0; i < s->n && !r; i++)
		if (s->items[i].in_file)
			r = misra_gries_restore(&file, i, s->items[i].file_weight,
						s->items[i].file_error);
	if (!r && (!s->counters.k || file.k < s->counters.k)) {
		r = coarsen(s, &s->file);
		s->all.epsilon = s->file.epsilon;
	}
	/* Lossy Counting needs more room, as in lib/filter/hot.c. */
	if (!r && s->in_file > 2 * file.k)
		r = misra_gries_reserve(&s->counters, s->counters.n + s->in_file);
	r = r ? r : misra_gries_merge(&s->counters, &file);
	if (!r)
		misra_gries_shrink(&s->counters);
	misra_gries_free(&file);
	s->all.samples += s->file.samples;
	s->all.per_thread = s->file.per_thread;
	if (s->file.phi > s->all.phi)
		s->all.phi = s->file.phi;
	return !r && !is_bounded(s) ? -ERANGE : r;
}

bool summary_judge(void *ctx, const uint64_t key[2], uint64_t *error)
{
	struct summary *s = ctx;
	uint32_t number = item_number(s, key);
	struct item *item = number == UINT32_MAX ? NULL : &s->items[number];

	if (!item || item_table_find(&s->counters.table, s->counters.of, number) == UINT32_MAX)
		return false;
	*error = item->judged ? 0 : misra_gries_high(&s->counters, number) - item->weight;
	item->judged = true;
	return true;
}

void summary_finish(const struct summary *s, struct summary_totals *t)
{
	*t = (struct summary_totals){.hot = s->all};
	t->hot.weight = s->counters.total;
	t->hot.offset = s->counters.offset;
	t->hot.counters = s->counters.k;
	for (size_t i = 0; i < s->counters.n; i++) {
		const struct item *item = &s->items[s->counters.of[i].item];

		t->kept_samples += item->samples;
		t->kept_weight += item->weight;
	}
}
