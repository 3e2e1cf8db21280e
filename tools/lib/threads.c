/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See threads.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include "tools/lib/threads.h"

struct thread_slot {
	uint32_t id[2]; /* pid, tid */
	uint32_t number;
	UT_hash_handle hh;
};

static const struct thread *find(const struct threads *t, uint32_t pid, uint32_t tid)
{
	uint32_t id[2] = {pid, tid};
	struct thread_slot *slot;

	HASH_FIND(hh, t->by_id, id, sizeof(id), slot);
	return slot ? &t->list[slot->number] : NULL;
}

uint32_t threads_number(struct threads *t, uint32_t pid, uint32_t tid)
{
	const struct thread *known;
	struct thread_slot *slot;

	if (t->last < t->n && t->list[t->last].pid == pid && t->list[t->last].tid == tid)
		return t->last;
	known = find(t, pid, tid);
	if (known)
		return t->last = known - t->list;
	if (t->n == t->capacity) {
		size_t want = t->capacity ? t->capacity * 2 : 64;
		struct thread *more = reallocarray(t->list, want, sizeof(*more));

		if (!more)
			return UINT32_MAX;
		t->list = more;
		t->capacity = want;
	}
	slot = calloc(1, sizeof(*slot));
	if (!slot)
		return UINT32_MAX;
	slot->id[0] = pid;
	slot->id[1] = tid;
	slot->number = t->n;
	HASH_ADD(hh, t->by_id, id, sizeof(slot->id), slot);
	if (!slot->hh.tbl) {
		free(slot);
		return UINT32_MAX;
	}
	t->list[t->n] = (struct thread){.pid = pid, .tid = tid};
	return t->n++;
}

int threads_name(struct threads *t, uint32_t pid, uint32_t tid, const char *name)
{
	uint32_t number = threads_number(t, pid, tid);
	char *copy = strdup(name);

	if (number == UINT32_MAX || !copy) {
		free(copy);
		return -ENOMEM;
	}
	free(t->list[number].name);
	t->list[number].name = copy;
	return 0;
}

int threads_finish(struct threads *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct thread *main = find(t, t->list[i].pid, t->list[i].pid);

		if (t->list[i].name || !main || !main->name)
			continue;
		t->list[i].name = strdup(main->name);
		if (!t->list[i].name)
			return -ENOMEM;
	}
	return 0;
}

void threads_free(struct threads *t)
{
	struct thread_slot *slot, *next;

	HASH_ITER (hh, t->by_id, slot, next) {
		HASH_DEL(t->by_id, slot);
		free(slot);
	}
	for (size_t i = 0; i < t->n; i++)
		free(t->list[i].name);
	free(t->list);
	*t = (struct threads){0};
}
