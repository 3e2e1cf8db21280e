/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See paths.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "tools/lib/paths.h"

void paths_init(struct paths *p, const struct cct *t, struct functions *f)
{
	*p = (struct paths){.tree = t, .functions = f};
}

void paths_free(struct paths *p)
{
	free(p->list);
	free(p->nodes);
	free(p->way);
	*p = (struct paths){0};
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

static int push(struct paths *p, uint32_t function, uint32_t node)
{
	size_t capacity = p->capacity;

	if (function == UINT32_MAX || reserve(&p->nodes, &capacity, p->n + 1) ||
	    reserve(&p->list, &p->capacity, p->n + 1))
		return -ENOMEM;
	p->list[p->n] = function;
	p->nodes[p->n++] = node;
	return 0;
}

/* The last n frames `times` more, or so many that it can be read. */
static int repeat(struct paths *p, size_t n, uint64_t times)
{
	size_t from = p->n - n, copies = times * n;
	char text[64];

	if (copies + n > PATHS_REPEAT && times > 1) {
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

static int way_to(struct paths *p, uint32_t node, size_t *n)
{
	*n = 0;
	for (uint32_t i = node; i; i = p->tree->nodes[i].parent)
		++*n;
	if (reserve(&p->way, &p->way_capacity, *n))
		return -ENOMEM;
	for (size_t i = *n; i > 0; node = p->tree->nodes[node].parent)
		p->way[--i] = node;
	return 0;
}

int paths_get(struct paths *p, uint32_t node)
{
	size_t n, group_end = 0, group_begin = 0;
	uint64_t times = 0;

	if (node == p->node && node)
		return 0;
	p->node = 0;
	p->n = 0;
	if (way_to(p, node, &n))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct cct_key *key = p->tree->nodes[p->way[i]].key;

		if (key->repeat && !times) {
			group_end = i + key->span;
			group_begin = p->n;
			times = key->repeat;
		}
		if (push(p, p->functions->of_node[p->way[i]], p->way[i]))
			return -ENOMEM;
		if (times && (i + 1 == group_end || i + 1 == n)) {
			if (repeat(p, p->n - group_begin, times))
				return -ENOMEM;
			times = 0;
		}
	}
	p->node = node;
	return 0;
}
