/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For each thread, knows the segment at each index, by its generation, and its content if it is not
 * written yet. What is below a segment never changes, and a sample that is written brings all that
 * is below it. So the segments that a sample needs are the newest ones, down to the first that is
 * written.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/uthash.h"
#include "record/late_segments.h"

struct level {
	uint64_t generation;	   /* 0: not known */
	struct pcce_segment *late; /* NULL: written */
};

struct thread {
	UT_hash_handle hh;
	uint64_t key; /* pid and tid */
	struct level *levels;
	uint32_t n;
};

struct late_segments {
	struct thread *threads;
	struct pcce_sample *sample; /* the last one that needed more segments */
	size_t size;
};

struct late_segments *late_segments_new(void)
{
	return calloc(1, sizeof(struct late_segments));
}

void late_segments_free(struct late_segments *l)
{
	struct thread *t, *next;

	if (!l)
		return;
	HASH_ITER (hh, l->threads, t, next) {
		HASH_DEL(l->threads, t);
		for (uint32_t i = 0; i < t->n; i++)
			free(t->levels[i].late);
		free(t->levels);
		free(t);
	}
	free(l->sample);
	free(l);
}

/* NULL: no memory. */
static struct thread *late_thread_of(struct late_segments *l, const struct pcce_sample *s)
{
	uint64_t key = (uint64_t)s->pid << 32 | s->tid;
	struct thread *t;

	HASH_FIND(hh, l->threads, &key, sizeof(key), t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = key;
	HASH_ADD(hh, l->threads, key, sizeof(key), t);
	if (!hash_added(t)) {
		free(t);
		return NULL;
	}
	return t;
}

static int reach_level(struct thread *t, uint32_t index)
{
	uint32_t n = t->n ? t->n : 8;
	struct level *grown;

	while (n <= index)
		n *= 2;
	if (n == t->n)
		return 0;
	grown = reallocarray(t->levels, n, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	memset(grown + t->n, 0, (n - t->n) * sizeof(*grown));
	t->levels = grown;
	t->n = n;
	return 0;
}

static int keep_segment(struct thread *t, const struct pcce_segment *segment)
{
	struct level *level;

	/* As stack_store.c: from a page that the program has written to. */
	if (segment->index >= PCCE_AREA_SEGMENTS || !segment->generation)
		return 0;
	if (reach_level(t, (uint32_t)segment->index))
		return -ENOMEM;
	level = &t->levels[segment->index];
	if (!level->late)
		level->late = malloc(sizeof(*level->late));
	if (!level->late)
		return -ENOMEM;
	*level->late = *segment;
	level->generation = segment->generation;
	return 0;
}

static int keep_segments(struct thread *t, const struct pcce_sample *s)
{
	const struct pcce_segment *segment = pcce_sample_segments(s);
	int r = 0;

	for (uint32_t i = 0; i < s->n_segments && !r; i++)
		r = keep_segment(t, &segment[i]);
	return r;
}

int late_segments_keep(struct late_segments *l, const struct pcce_sample *s)
{
	struct thread *t = s->n_segments ? late_thread_of(l, s) : NULL;

	return t ? keep_segments(t, s) : s->n_segments ? -ENOMEM : 0;
}

/* How many segments below the sample are not written yet. */
static uint32_t count_late(const struct thread *t, const struct pcce_sample *s)
{
	uint64_t generation = s->below;
	uint32_t n = 0;

	for (uint32_t i = s->n_below; i && i <= t->n; i--) {
		const struct level *level = &t->levels[i - 1];

		if (!generation || level->generation != generation || !level->late)
			break;
		generation = level->late->base.id;
		n++;
	}
	return n;
}

int late_segments_add(struct late_segments *l, const struct pcce_sample *s,
		      const struct pcce_sample **out)
{
	struct thread *t = s->n_below ? late_thread_of(l, s) : NULL;
	size_t entries = sizeof(*s) + s->n_entries * sizeof(struct pcce_entry);
	struct pcce_sample *grown;
	struct pcce_segment *to;
	uint32_t n;
	size_t size;

	*out = s;
	if (!s->n_below)
		return 0;
	if (!t || keep_segments(t, s))
		return -ENOMEM;
	n = count_late(t, s);
	if (!n && !s->n_segments)
		return 0;
	size = entries + n * sizeof(*to) + s->n_stack * sizeof(uint64_t);
	if (size > l->size) {
		grown = realloc(l->sample, size);
		if (!grown)
			return -ENOMEM;
		l->sample = grown;
		l->size = size;
	}
	memcpy(l->sample, s, entries);
	l->sample->n_segments = n;
	to = (struct pcce_segment *)((char *)l->sample + entries);
	for (uint32_t i = 0; i < n; i++) {
		struct level *level = &t->levels[s->n_below - n + i];

		to[i] = *level->late;
		free(level->late);
		level->late = NULL;
	}
	if (s->n_stack)
		memcpy(to + n, pcce_sample_stack(s), s->n_stack * sizeof(uint64_t));
	*out = l->sample;
	return 0;
}
