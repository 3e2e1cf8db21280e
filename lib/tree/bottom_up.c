/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the bottom-up tree. Each node has a set of paths, one for each context that passes
 * through it. A path has a position (a node of the tree of contexts) and the samples at its
 * innermost end. Expanding a node moves each of its paths up by one frame, and groups them by the
 * frames there. A path ends at the outermost frame.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "tree/bottom_up.h"

struct path {
	uint32_t at; /* node of the tree of contexts */
	uint32_t to; /* while a node is expanded: the child that gets this path */
	uint64_t weight, samples;
};

struct bottom_up_paths {
	struct path *list;
	size_t n;
	bool expanded;
};

static int reserve_paths(struct bottom_up *c)
{
	return array_reach(&c->paths, &c->n_paths, c->tree.capacity - 1, 1, sizeof(*c->paths));
}

/* Returns the key that a node of the tree of contexts has in this tree. inner: the frame that it
 * called on the path; 0: it is the innermost one. */
static struct cct_key bottom_up_key(const struct bottom_up *c, uint32_t node, uint32_t inner)
{
	struct cct_key key = *c->from->nodes[node].key;

	key.call = 0;
	/* For an inlined frame, func is the function that it was inlined into. */
	if (key.flags & CCT_INLINED)
		key.func = PCCE_NONE;
	if (!c->lines) {
		key.file = inner ? c->from->nodes[inner].key->file : 0;
		key.line = inner ? c->from->nodes[inner].key->line : 0;
	}
	/* The number of repetitions differs between paths. */
	key.repeat = key.repeat != 0;
	return key;
}

static uint32_t add_path(struct bottom_up *c, uint32_t parent, const struct cct_key *key,
			 const struct cct_node *from, const struct path *p)
{
	size_t before = c->tree.n;
	uint32_t node = cct_child(&c->tree, parent, key);
	struct cct_node *n;

	if (node == UINT32_MAX || reserve_paths(c))
		return UINT32_MAX;
	n = &c->tree.nodes[node];
	if (c->tree.n != before || from->repeat_min < n->repeat_min)
		n->repeat_min = from->repeat_min;
	if (c->tree.n != before || from->repeat_max > n->repeat_max)
		n->repeat_max = from->repeat_max;
	n->total += p->weight;
	n->samples += p->samples;
	c->paths[node].n++;
	return node;
}

/* Distributes paths to new children. */
static int distribute_paths(struct bottom_up *c, const struct path *paths, size_t n, uint32_t first)
{
	for (uint32_t i = first; i < c->tree.n; i++) {
		c->paths[i].list = malloc(c->paths[i].n * sizeof(*c->paths[i].list));
		if (!c->paths[i].list)
			return -ENOMEM;
		c->paths[i].n = 0;
	}
	for (size_t i = 0; i < n; i++) {
		struct bottom_up_paths *to = &c->paths[paths[i].to];

		if (paths[i].to)
			to->list[to->n++] = paths[i];
	}
	return 0;
}

int bottom_up_begin(struct bottom_up *c, const struct cct *from, const struct symbol_table *names,
		    bool lines, const struct cct_sort_order *order)
{
	struct path *paths = malloc(from->n * sizeof(*paths));
	size_t n = 0;
	int r = 0;

	*c = (struct bottom_up){.from = from, .names = names, .order = *order, .lines = lines};
	if (!paths || cct_init(&c->tree) || reserve_paths(c))
		r = -ENOMEM;
	for (uint32_t i = 1; i < from->n && !r; i++) {
		struct cct_key key;

		if (!from->nodes[i].self && !from->nodes[i].samples)
			continue;
		key = bottom_up_key(c, i, 0);
		key.repeat = key.span = 0; /* a context ends in its last repetition */
		/* The top node is the function, however it was entered. */
		if (key.flags & CCT_INLINED || key.kind == DECODE_FRAME_TAIL)
			key.func = PCCE_NONE;
		key.flags &= CCT_KERNEL;
		key.kind = key.kind == DECODE_FRAME_TAIL ? DECODE_FRAME_CALL : key.kind;
		paths[n] = (struct path){
			.at = i, .weight = from->nodes[i].self, .samples = from->nodes[i].samples};
		paths[n].to = add_path(c, 0, &key, &from->nodes[i], &paths[n]);
		if (paths[n++].to == UINT32_MAX)
			r = -ENOMEM;
	}
	if (!r)
		r = distribute_paths(c, paths, n, 1);
	if (!r) {
		c->tree.nodes[0].total = from->nodes[0].total;
		c->paths[0].expanded = true;
		r = cct_sort_children(&c->tree, 0, 1, c->names, &c->order);
	}
	free(paths);
	if (r)
		bottom_up_free(c);
	return r;
}

int bottom_up_expand(struct bottom_up *c, uint32_t node)
{
	struct bottom_up_paths *p = &c->paths[node];
	struct path *list = p->list;
	size_t n = p->n;
	uint32_t first = c->tree.n;
	int r = 0;

	if (p->expanded)
		return 0;
	for (size_t i = 0; i < n && !r; i++) {
		uint32_t up = c->from->nodes[list[i].at].parent;
		struct cct_key key;

		list[i].to = 0;
		if (!up)
			continue;
		key = bottom_up_key(c, up, list[i].at);
		list[i].to = add_path(c, node, &key, &c->from->nodes[up], &list[i]);
		if (list[i].to == UINT32_MAX)
			r = -ENOMEM;
		list[i].at = up;
	}
	if (!r)
		r = distribute_paths(c, list, n, first);
	if (!r)
		r = cct_sort_children(&c->tree, node, first, c->names, &c->order);
	c->paths[node] = (struct bottom_up_paths){.expanded = true};
	free(list);
	return r;
}

bool bottom_up_has_children(const struct bottom_up *c, uint32_t node)
{
	const struct bottom_up_paths *p = &c->paths[node];

	for (size_t i = 0; i < p->n && !p->expanded; i++)
		if (c->from->nodes[p->list[i].at].parent)
			return true;
	return p->expanded && c->tree.nodes[node].child;
}

void bottom_up_free(struct bottom_up *c)
{
	for (size_t i = 0; i < c->n_paths; i++)
		free(c->paths[i].list);
	free(c->paths);
	cct_free(&c->tree);
	*c = (struct bottom_up){0};
}
