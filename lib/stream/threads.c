/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers threads in the order of their first samples. The records with their names can be before
 * or after those.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/uthash.h"
#include "stream/threads.h"

struct named {
	uint64_t id; /* pid << 32 | tid; tid 0: the process */
	uint64_t time;
	uint32_t name;
	UT_hash_handle hh;
};

struct numbered {
	uint64_t id;
	uint32_t number;
	UT_hash_handle hh;
};

struct threads {
	struct stream stream;
	struct symbol_table *names;
	struct named *named;
	struct numbered *numbered, *last;
	struct thread *list;
	size_t n, capacity;
};

void threads_free(struct threads *t)
{
	if (!t)
		return;
	hash_free(t->named, free);
	hash_free(t->numbered, free);
	free(t->list);
	free(t);
}

static int add_thread_name(struct threads *t, uint64_t id, uint64_t time, const char *text)
{
	uint32_t name = symbol_table_intern(t->names, text);
	struct named *n;

	if (name == UINT32_MAX)
		return -ENOMEM;
	HASH_FIND(hh, t->named, &id, sizeof(id), n);
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n)
			return -ENOMEM;
		n->id = id;
		if (!hash_add(t->named, id, n))
			return -ENOMEM;
	}
	if (time >= n->time && *text) {
		n->time = time;
		n->name = name;
	}
	return 0;
}

uint32_t threads_number(struct threads *t, uint32_t pid, uint32_t tid)
{
	uint64_t id = (uint64_t)pid << 32 | tid;
	struct numbered *i;

	if (t->last && t->last->id == id)
		return t->last->number;
	HASH_FIND(hh, t->numbered, &id, sizeof(id), i);
	if (!i) {
		if (array_grow_from(&t->list, t->n, &t->capacity, 64, sizeof(*t->list)))
			return UINT32_MAX;
		i = calloc(1, sizeof(*i));
		if (!i)
			return UINT32_MAX;
		i->id = id;
		i->number = t->n;
		if (!hash_add(t->numbered, id, i))
			return UINT32_MAX;
		t->list[t->n++] = (struct thread){.pid = pid, .tid = tid};
	}
	t->last = i;
	return i->number;
}

static int see_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	struct threads *t = (struct threads *)s;
	uint64_t id = (uint64_t)rec->pid << 32;

	if (add_thread_name(t, id, rec->time, comm) ||
	    add_thread_name(t, id | rec->pid, rec->time, comm))
		return -ENOMEM;
	return stream_pass(s->next, process, rec, comm);
}

static int see_thread(struct stream *s, const struct pcce_rec_thread *rec, const char *comm)
{
	struct threads *t = (struct threads *)s;
	uint64_t id = (uint64_t)rec->pid << 32;

	if ((rec->tid == rec->pid && add_thread_name(t, id, rec->time, comm)) ||
	    add_thread_name(t, id | rec->tid, rec->time, comm))
		return -ENOMEM;
	return stream_pass(s->next, thread, rec, comm);
}

static int see_event(struct stream *s, struct stream_event *e)
{
	if (threads_number((struct threads *)s, e->sample->pid, e->sample->tid) == UINT32_MAX)
		return -ENOMEM;
	return stream_pass(s->next, event, e);
}

struct threads *threads_new(struct symbol_table *names)
{
	static const struct stream_ops ops = {
		.process = see_process, .thread = see_thread, .event = see_event};
	struct threads *t = calloc(1, sizeof(*t));

	if (t) {
		t->stream.ops = &ops;
		t->names = names;
	}
	return t;
}

struct stream *threads_stage(struct threads *t, struct stream *next)
{
	t->stream.next = next;
	return &t->stream;
}

void threads_set_origin(struct threads *t, uint32_t number, uint32_t origin)
{
	struct thread *th = &t->list[number];

	th->origin = th->origin && th->origin != origin ? THREAD_ORIGIN_SEVERAL : origin;
}

static uint32_t last_name(const struct threads *t, uint64_t id)
{
	struct named *n;

	HASH_FIND(hh, t->named, &id, sizeof(id), n);
	return n ? n->name : 0;
}

void threads_finish(struct threads *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct thread *th = &t->list[i];

		th->process = last_name(t, (uint64_t)th->pid << 32);
		th->name = last_name(t, (uint64_t)th->pid << 32 | th->tid);
		if (!th->name)
			th->name = th->process;
	}
}

size_t threads_count(const struct threads *t)
{
	return t->n;
}

const struct thread *threads_get(const struct threads *t, uint32_t number)
{
	return &t->list[number];
}
