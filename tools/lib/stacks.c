/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All repetitions of a group were called from one place (an entry of the encoding stack counts
 * pushes at one site), so they are equal as locations too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/lib/stacks.h"

void stacks_init(struct stacks *s, const struct profile *p, struct locations *l)
{
	*s = (struct stacks){.tree = &p->tree, .locations = l};
}

void stacks_free(struct stacks *s)
{
	free(s->frames);
	free(s->path);
	*s = (struct stacks){0};
}

static int reserve(uint32_t **list, size_t *capacity, size_t n)
{
	size_t want = *capacity ? *capacity : 256;
	uint32_t *more;

	if (n <= *capacity)
		return 0;
	while (want < n)
		want *= 2;
	more = reallocarray(*list, want, sizeof(*more));
	if (!more)
		return -ENOMEM;
	*list = more;
	*capacity = want;
	return 0;
}

/* The last n frames once more, `times` times, or so many that it can be read. */
static int repeat(struct stacks *s, size_t n, uint64_t times)
{
	size_t from = s->n - n, copies = times;
	char text[64];

	if ((times + 1) * n > STACKS_REPEAT && times > 1) {
		uint32_t remark;

		snprintf(text, sizeof(text), "[%llu more of %s]", (unsigned long long)times - 1,
			 n == 1 ? "the same" : "these");
		remark = locations_remark(s->locations, text);
		if (remark == LOCATION_NONE || reserve(&s->frames, &s->capacity, s->n + 1))
			return -ENOMEM;
		s->frames[s->n++] = remark;
		copies = 1;
	}
	if (reserve(&s->frames, &s->capacity, s->n + copies * n))
		return -ENOMEM;
	for (size_t i = 0; i < copies * n; i++)
		s->frames[s->n++] = s->frames[from + i % n];
	return 0;
}

/* Nodes from the outermost to this one; returns how many, 0: no memory. */
static size_t path_to(struct stacks *s, uint32_t node)
{
	size_t n = 0;

	for (uint32_t i = node; i; i = s->tree->nodes[i].parent)
		n++;
	if (reserve(&s->path, &s->path_capacity, n))
		return 0;
	for (size_t i = n; i > 0; node = s->tree->nodes[node].parent)
		s->path[--i] = node;
	return n;
}

static int fill(struct stacks *s, size_t n)
{
	size_t group_end = 0, group_frames = 0; /* in the path; frames before the group */
	uint64_t times = 0;

	s->n = 0;
	for (size_t i = 0; i < n; i++) {
		const struct cct_key *key = s->tree->nodes[s->path[i]].key;

		if (key->repeat && !times) {
			group_end = i + key->span;
			group_frames = s->n;
			times = key->repeat;
		}
		/* A frame ends where another one is called. */
		if (i + 1 == n || s->locations->caller[s->path[i + 1]] != LOCATION_NONE) {
			if (reserve(&s->frames, &s->capacity, s->n + 1))
				return -ENOMEM;
			s->frames[s->n++] = i + 1 < n ? s->locations->caller[s->path[i + 1]] : LOCATION_NONE;
		}
		if (times && i + 1 >= group_end) {
			if (repeat(s, s->n - group_frames, times))
				return -ENOMEM;
			times = 0;
		}
	}
	return 0;
}

int stacks_get(struct stacks *s, uint32_t node, struct place place)
{
	size_t n;

	if (node != s->node || !node) {
		n = node ? path_to(s, node) : 0;
		s->node = 0;
		if ((node && !n) || fill(s, n))
			return -ENOMEM;
		s->node = node;
	}
	if (!node) {
		s->n = 0;
		return 0;
	}
	s->frames[s->n - 1] = locations_leaf(s->locations, node, place);
	return s->frames[s->n - 1] == LOCATION_NONE ? -ENOMEM : 0;
}
