/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Splits streams by name when all names are known: a stream keeps its first name, and each change
 * adds another stream. A thread without names has those of its process.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "base/uthash.h"
#include "stream/sample_streams.h"

struct change {
	uint32_t pid, tid; /* of a process: its first thread's */
	uint32_t comm;
	uint64_t time;
};

/* Samples from this time on belong to another stream. */
struct split {
	uint64_t time;
	uint32_t stream;
};

struct known {
	uint32_t key[4]; /* pid, tid, event, labels */
	uint32_t stream;
	struct split *splits;
	size_t n_splits;
	UT_hash_handle hh;
};

struct sample_streams {
	struct sample_stream *list;
	size_t n, capacity;
	struct known *by_key,
		**known; /* known[i]: of list[i], for those made by sample_streams_of() */
	size_t n_known;
	struct change *changes;
	size_t n_changes, changes_capacity;
	struct known *last; /* successive samples often have the same thread */
};

struct sample_streams *sample_streams_new(void)
{
	return calloc(1, sizeof(struct sample_streams));
}

void sample_streams_free(struct sample_streams *s)
{
	struct known *k, *next;

	if (!s)
		return;
	HASH_ITER (hh, s->by_key, k, next) {
		HASH_DEL(s->by_key, k);
		free(k->splits);
		free(k);
	}
	free(s->known);
	free(s->changes);
	free(s->list);
	free(s);
}

static int add_change(struct sample_streams *s, uint32_t pid, uint32_t tid, uint64_t time,
		      uint32_t comm)
{
	if (array_grow_from(&s->changes, s->n_changes, &s->changes_capacity, 64,
			    sizeof(*s->changes)))
		return -ENOMEM;
	s->changes[s->n_changes++] = (struct change){pid, tid, comm, time};
	return 0;
}

int sample_streams_add_process(struct sample_streams *s, const struct pcce_rec_process *rec,
			       uint32_t comm)
{
	return add_change(s, rec->pid, rec->pid, rec->time, comm);
}

int sample_streams_add_thread(struct sample_streams *s, const struct pcce_rec_thread *rec,
			      uint32_t comm)
{
	return add_change(s, rec->pid, rec->tid, rec->time, comm);
}

static uint32_t add_stream(struct sample_streams *s, const struct sample_stream *stream)
{
	if (array_grow_from(&s->list, s->n, &s->capacity, 64, sizeof(*s->list)))
		return UINT32_MAX;
	s->list[s->n] = *stream;
	return s->n++;
}

static struct known *add_known(struct sample_streams *s, const uint32_t key[4])
{
	struct known *k = calloc(1, sizeof(*k));

	if (!k || array_grow(&s->known, s->n_known, sizeof(struct known *))) {
		free(k);
		return NULL;
	}
	k->stream = add_stream(s, &(struct sample_stream){key[0], key[1], key[2], 0, key[3]});
	if (k->stream == UINT32_MAX) {
		free(k);
		return NULL;
	}
	memcpy(k->key, key, sizeof(k->key));
	if (!hash_add(s->by_key, key, k))
		return NULL;
	s->known[s->n_known++] = k;
	return k;
}

uint32_t sample_streams_of(struct sample_streams *s, uint32_t pid, uint32_t tid, uint32_t event,
			   uint32_t labels)
{
	uint32_t key[4] = {pid, tid, event, labels};
	struct known *k = s->last;

	if (!k || memcmp(k->key, key, sizeof(key))) {
		HASH_FIND(hh, s->by_key, key, sizeof(key), k);
		if (!k)
			k = add_known(s, key);
		if (!k)
			return UINT32_MAX;
		s->last = k;
	}
	return k->stream;
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->comm < y->comm ? -1 : x->comm > y->comm;
}

/* The first change of a thread, and how many it has. */
static size_t changes_of(const struct sample_streams *s, uint32_t pid, uint32_t tid,
			 const struct change **first)
{
	struct change key = {.pid = pid, .tid = tid};
	size_t lo = SORTED_COUNT(i, s->n_changes, compare_changes(&s->changes[i], &key) < 0), end;

	for (end = lo;
	     end < s->n_changes && s->changes[end].pid == pid && s->changes[end].tid == tid; end++)
		;
	*first = s->changes + lo;
	return end - lo;
}

static int name_stream(struct sample_streams *s, struct known *k)
{
	const struct change *c;
	size_t n = changes_of(s, k->key[0], k->key[1], &c);
	uint32_t comm;

	if (!n)
		n = changes_of(s, k->key[0], k->key[0], &c);
	if (!n)
		return 0;
	comm = s->list[k->stream].comm = c[0].comm;
	for (size_t i = 1; i < n; i++) {
		struct sample_stream next = {k->key[0], k->key[1], k->key[2], c[i].comm, k->key[3]};

		if (c[i].comm == comm)
			continue;
		comm = c[i].comm;
		if (array_grow(&k->splits, k->n_splits, sizeof(*k->splits)))
			return -ENOMEM;
		k->splits[k->n_splits] = (struct split){c[i].time, add_stream(s, &next)};
		if (k->splits[k->n_splits++].stream == UINT32_MAX)
			return -ENOMEM;
	}
	return 0;
}

int sample_streams_finish(struct sample_streams *s)
{
	if (s->n_changes)
		qsort(s->changes, s->n_changes, sizeof(*s->changes), compare_changes);
	for (size_t i = 0; i < s->n_known; i++)
		if (name_stream(s, s->known[i]))
			return -ENOMEM;
	return 0;
}

uint32_t sample_streams_at(const struct sample_streams *s, uint32_t stream, uint64_t time)
{
	const struct known *k = s->known[stream];

	for (size_t i = k->n_splits; i-- > 0;)
		if (k->splits[i].time <= time)
			return k->splits[i].stream;
	return stream;
}

size_t sample_streams_count(const struct sample_streams *s)
{
	return s->n;
}

const struct sample_stream *sample_streams_get(const struct sample_streams *s, uint32_t stream)
{
	return &s->list[stream];
}
