/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See unrolled_path.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/array.h"
#include "profile/unrolled_path.h"

void unrolled_path_init(struct unrolled_path *p, const struct cct *t,
			const struct unrolled_path_kind *kind, void *ctx)
{
	*p = (struct unrolled_path){.kind = kind, .ctx = ctx};
	tree_cursor_init(&p->way, t);
}

void unrolled_path_free(struct unrolled_path *p)
{
	free(p->frames);
	free(p->nodes);
	free(p->begin);
	free(p->group);
	tree_cursor_free(&p->way);
	*p = (struct unrolled_path){0};
}

static int push_frame(struct unrolled_path *p, uint32_t frame, uint32_t node)
{
	size_t capacity = p->capacity;

	if (array_reserve(&p->nodes, &capacity, p->n + 1, sizeof(*p->nodes)) ||
	    array_reserve(&p->frames, &p->capacity, p->n + 1, sizeof(*p->frames)))
		return -ENOMEM;
	p->frames[p->n] = frame;
	p->nodes[p->n++] = node;
	return 0;
}

/* Adds the last n frames `times` more, or, if that is too long, a remark and the frames once. All
 * repetitions of a group are called from one place (an entry of the encoding stack counts pushes at
 * one site), so their frames are equal. */
static int repeat_group(struct unrolled_path *p, size_t n, uint64_t times)
{
	size_t from = p->n - n, copies = times * n;
	char text[64];

	if (copies + n > UNROLLED_PATH_REPEAT && times > 1) {
		uint32_t remark;

		snprintf(text, sizeof(text), "[%llu more of %s]", (unsigned long long)times - 1,
			 n == 1 ? "the same" : "these");
		remark = p->kind->remark(p->ctx, text);
		if (remark == UINT32_MAX || push_frame(p, remark, 0))
			return -ENOMEM;
		copies = n;
	}
	for (size_t i = 0; i < copies; i++)
		if (push_frame(p, p->frames[from + i % n], p->nodes[from + i % n]))
			return -ENOMEM;
	return 0;
}

static const struct cct_key *key_on_path(const struct unrolled_path *p, size_t i)
{
	return p->way.tree->nodes[p->way.nodes[i]].key;
}

/* Returns the index of the first node whose frames must be made: the first `same` nodes are those
 * of the path before. A group that goes on after them is made as a whole. */
static size_t first_to_make(const struct unrolled_path *p, size_t same)
{
	size_t group;

	if (same && p->kind->uses_next)
		same--;
	if (!same)
		return 0;
	group = p->group[same - 1];
	return key_on_path(p, group)->repeat && group + key_on_path(p, group)->span > same ? group
											   : same;
}

static int make_frames(struct unrolled_path *p, size_t i)
{
	size_t n = p->way.n, group = 0, end = 0;

	for (; i < n; i++) {
		uint32_t node = p->way.nodes[i], frame, times;
		int r = p->kind->frame(p->ctx, node, i + 1 < n ? p->way.nodes[i + 1] : 0, &frame);

		if (i >= end) {
			group = i;
			end = i + (key_on_path(p, i)->repeat ? key_on_path(p, i)->span : 1);
		}
		p->begin[i] = p->n;
		p->group[i] = group;
		if (r < 0 || (!r && push_frame(p, frame, node)))
			return -ENOMEM;
		times = key_on_path(p, group)->repeat;
		/* The frame at the end of the path depends on the sample if frames use the next
		 * node, so a group that ends there early is not repeated. */
		if (times && (i + 1 == end || (i + 1 == n && !p->kind->uses_next)) &&
		    repeat_group(p, p->n - p->begin[group], times))
			return -ENOMEM;
	}
	p->length = n;
	return 0;
}

int unrolled_path_to(struct unrolled_path *p, uint32_t node)
{
	size_t same, from;

	if (node == p->node && node) {
		p->same = p->n;
		return 0;
	}
	if (tree_cursor_to(&p->way, node, &same) ||
	    array_reserve(&p->begin, &p->begin_capacity, p->way.n, sizeof(*p->begin)) ||
	    array_reserve(&p->group, &p->group_capacity, p->way.n, sizeof(*p->group)))
		return -ENOMEM;
	from = p->node ? first_to_make(p, same) : 0;
	if (!from)
		p->n = 0;
	else if (from < p->length)
		p->n = p->begin[from];
	p->same = p->n;
	p->node = 0;
	if (make_frames(p, from))
		return -ENOMEM;
	p->node = node;
	return 0;
}
