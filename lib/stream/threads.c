/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers threads in the order of their first samples. The records with their names can be before
 * or after those.
 */
#include <errno.h>
#include <stdlib.h>
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
	struct symbol_table *names;
	struct named *named;
	struct numbered *numbered, *last;
	struct thread *list;
	size_t n, capacity;
};

struct threads *threads_new(struct symbol_table *names)
{
	struct threads *t = calloc(1, sizeof(*t));

	if (t)
		t->names = names;
	return t;
}

void threads_free(struct threads *t)
{
	struct named *n, *next_named;
	struct numbered *i, *next;

	if (!t)
		return;
	HASH_ITER (hh, t->named, n, next_named) {
		HASH_DEL(t->named, n);
		free(n);
	}
	HASH_ITER (hh, t->numbered, i, next) {
		HASH_DEL(t->numbered, i);
		free(i);
	}
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
		HASH_ADD(hh, t->named, id, sizeof(n->id), n);
		if (!hash_added(n)) {
			free(n);
			return -ENOMEM;
		}
	}
	if (time >= n->time && *text) {
		n->time = time;
		n->name = name;
	}
	return 0;
}

int threads_add_process(struct threads *t, const struct pcce_rec_process *rec, const char *name)
{
	uint64_t id = (uint64_t)rec->pid << 32;
	int r = add_thread_name(t, id, rec->time, name);

	return r ? r : add_thread_name(t, id | rec->pid, rec->time, name);
}

int threads_add_thread(struct threads *t, const struct pcce_rec_thread *rec, const char *name)
{
	uint64_t id = (uint64_t)rec->pid << 32;
	int r = rec->tid == rec->pid ? add_thread_name(t, id, rec->time, name) : 0;

	return r ? r : add_thread_name(t, id | rec->tid, rec->time, name);
}

uint32_t threads_number(struct threads *t, uint32_t pid, uint32_t tid)
{
	uint64_t id = (uint64_t)pid << 32 | tid;
	struct numbered *i;

	if (t->last && t->last->id == id)
		return t->last->number;
	HASH_FIND(hh, t->numbered, &id, sizeof(id), i);
	if (!i) {
		if (t->n == t->capacity) {
			size_t want = t->capacity ? t->capacity * 2 : 64;
			struct thread *more = reallocarray(t->list, want, sizeof(*more));

			if (!more)
				return UINT32_MAX;
			t->list = more;
			t->capacity = want;
		}
		i = calloc(1, sizeof(*i));
		if (!i)
			return UINT32_MAX;
		i->id = id;
		i->number = t->n;
		HASH_ADD(hh, t->numbered, id, sizeof(i->id), i);
		if (!hash_added(i)) {
			free(i);
			return UINT32_MAX;
		}
		t->list[t->n++] = (struct thread){.pid = pid, .tid = tid};
	}
	t->last = i;
	return i->number;
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
