/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See function_paths.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "profile/function_paths.h"

void function_paths_init(struct function_paths *p, const struct cct *t, struct functions *f)
{
	*p = (struct function_paths){.functions = f};
	tree_cursor_init(&p->way, t);
}

void function_paths_free(struct function_paths *p)
{
	free(p->list);
	free(p->nodes);
	free(p->begin);
	free(p->group);
	tree_cursor_free(&p->way);
	*p = (struct function_paths){0};
}

static int push(struct function_paths *p, uint32_t function, uint32_t node)
{
	size_t capacity = p->capacity;

	if (function == UINT32_MAX || tree_cursor_reserve(&p->nodes, &capacity, p->n + 1) ||
	    tree_cursor_reserve(&p->list, &p->capacity, p->n + 1))
		return -ENOMEM;
	p->list[p->n] = function;
	p->nodes[p->n++] = node;
	return 0;
}

/* The last n frames `times` more, or so many that it can be read. */
static int repeat(struct function_paths *p, size_t n, uint64_t times)
{
	size_t from = p->n - n, copies = times * n;
	char text[64];

	if (copies + n > FUNCTION_PATHS_REPEAT && times > 1) {
		snprintf(text, sizeof(text), "[%llu more of %s]", (unsigned long long)times - 1,
			 n == 1 ? "the same" : "these");
		if (push(p, functions_remark(p->functions, text), 0))
			return -ENOMEM;
		copies = n;
	}
	for (size_t i = 0; i < copies; i++)
		if (push(p, p->list[from + i % n], p->nodes[from + i % n]))
			return -ENOMEM;
	return 0;
}

/* The first node whose frames are to be made anew. */
static size_t restart(const struct function_paths *p, size_t same)
{
	const struct cct_key *key;
	size_t group;

	if (!same)
		return 0;
	group = p->group[same - 1];
	key = p->way.tree->nodes[p->way.nodes[group]].key;
	return key->repeat && group + key->span > same ? group : same;
}

int function_paths_get(struct function_paths *p, uint32_t node)
{
	size_t i, same, group = 0, end = 0;

	if (node == p->node && node) {
		p->same = p->n;
		return 0;
	}
	if (tree_cursor_to(&p->way, node, &same))
		return -ENOMEM;
	if (tree_cursor_reserve(&p->begin, &p->begin_capacity, p->way.n) ||
	    tree_cursor_reserve(&p->group, &p->group_capacity, p->way.n))
		return -ENOMEM;
	i = p->node ? restart(p, same) : 0;
	if (!i)
		p->n = 0;
	else if (i < p->length)
		p->n = p->begin[i];
	p->same = p->n;
	p->node = 0;
	for (; i < p->way.n; i++) {
		uint32_t at = p->way.nodes[i];
		const struct cct_key *key = p->way.tree->nodes[at].key;

		if (i >= end) {
			group = i;
			end = i + (key->repeat ? key->span : 1);
		}
		p->begin[i] = p->n;
		p->group[i] = group;
		if (push(p, p->functions->of_node[at], at))
			return -ENOMEM;
		key = p->way.tree->nodes[p->way.nodes[group]].key;
		if (key->repeat && (i + 1 == end || i + 1 == p->way.n) &&
		    repeat(p, p->n - p->begin[group], key->repeat))
			return -ENOMEM;
	}
	p->length = p->way.n;
	p->node = node;
	return 0;
}
