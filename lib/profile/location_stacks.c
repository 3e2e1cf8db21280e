/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * All repetitions of a group were called from one place (an entry of the encoding stack counts
 * pushes at one site), so they are equal as locations too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "profile/location_stacks.h"

void location_stacks_init(struct location_stacks *s, const struct profile *p, struct locations *l)
{
	*s = (struct location_stacks){.locations = l};
	tree_cursor_init(&s->way, &p->tree);
}

void location_stacks_free(struct location_stacks *s)
{
	free(s->frames);
	free(s->begin);
	free(s->group);
	tree_cursor_free(&s->way);
	*s = (struct location_stacks){0};
}

/* The last n frames once more, `times` times, or so many that it can be read. */
static int repeat(struct location_stacks *s, size_t n, uint64_t times)
{
	size_t from = s->n - n, copies = times;
	char text[64];

	if ((times + 1) * n > LOCATION_STACKS_REPEAT && times > 1) {
		uint32_t remark;

		snprintf(text, sizeof(text), "[%llu more of %s]", (unsigned long long)times - 1,
			 n == 1 ? "the same" : "these");
		remark = locations_remark(s->locations, text);
		if (remark == LOCATION_NONE ||
		    tree_cursor_reserve(&s->frames, &s->capacity, s->n + 1))
			return -ENOMEM;
		s->frames[s->n++] = remark;
		copies = 1;
	}
	if (tree_cursor_reserve(&s->frames, &s->capacity, s->n + copies * n))
		return -ENOMEM;
	for (size_t i = 0; i < copies * n; i++)
		s->frames[s->n++] = s->frames[from + i % n];
	return 0;
}

/* The first node whose frames are to be made anew.  A frame needs the node after it, too. */
static size_t restart(const struct location_stacks *s, size_t same)
{
	const struct cct_key *key;
	size_t group;

	if (same < 2)
		return 0;
	group = s->group[same - 2];
	key = s->way.tree->nodes[s->way.nodes[group]].key;
	return key->repeat && group + key->span > same - 1 ? group : same - 1;
}

static int fill(struct location_stacks *s, size_t from)
{
	const struct tree_cursor *way = &s->way;
	size_t group = 0, end = 0;

	for (size_t i = from; i < way->n; i++) {
		const struct cct_key *key = way->tree->nodes[way->nodes[i]].key;
		uint32_t caller =
			i + 1 < way->n ? s->locations->caller[way->nodes[i + 1]] : LOCATION_NONE;

		if (i >= end) {
			group = i;
			end = i + (key->repeat ? key->span : 1);
		}
		s->begin[i] = s->n;
		s->group[i] = group;
		/* A frame ends where another one is called. */
		if (i + 1 == way->n || caller != LOCATION_NONE) {
			if (tree_cursor_reserve(&s->frames, &s->capacity, s->n + 1))
				return -ENOMEM;
			s->frames[s->n++] = caller;
		}
		key = way->tree->nodes[way->nodes[group]].key;
		if (key->repeat && i + 1 == end && repeat(s, s->n - s->begin[group], key->repeat))
			return -ENOMEM;
	}
	s->length = way->n;
	return 0;
}

static int go_to(struct location_stacks *s, uint32_t node)
{
	size_t same, from;

	if (tree_cursor_to(&s->way, node, &same) ||
	    tree_cursor_reserve(&s->begin, &s->begin_capacity, s->way.n) ||
	    tree_cursor_reserve(&s->group, &s->group_capacity, s->way.n))
		return -ENOMEM;
	from = s->node ? restart(s, same) : 0;
	if (!from)
		s->n = 0;
	else if (from < s->length)
		s->n = s->begin[from];
	s->node = 0;
	if (fill(s, from))
		return -ENOMEM;
	s->node = node;
	return 0;
}

int location_stacks_get(struct location_stacks *s, uint32_t node, struct tree_place place)
{
	if (node != s->node && go_to(s, node))
		return -ENOMEM;
	if (!node) {
		s->n = 0;
		return 0;
	}
	s->frames[s->n - 1] = locations_leaf(s->locations, node, place);
	return s->frames[s->n - 1] == LOCATION_NONE ? -ENOMEM : 0;
}
