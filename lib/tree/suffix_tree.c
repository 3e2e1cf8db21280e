/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements k-calling contexts: walks from each sampled node to its callers, then adds the frames
 * that it met to the new tree, outermost first. */
#include <errno.h>
#include <stdlib.h>
#include "tree/groups.h"
#include "tree/suffix_tree.h"

struct suffixes {
	const struct cct *from;
	const struct tree_group *groups;
	uint32_t path[SUFFIX_TREE_MOST];
	size_t n, most;
};

/* Fills the path with the innermost frames of a context, innermost first. Returns the caller of the
 * last one; 0: it has none. */
static uint32_t collect_frames(struct suffixes *s, uint32_t node)
{
	const struct cct_node *nodes = s->from->nodes;

	s->n = 0;
	while (node && s->n < s->most) {
		const struct tree_group *g = &s->groups[node];
		uint64_t times = g->head && !g->left ? nodes[g->head].key->repeat : 0;
		uint32_t last = node;

		do {
			/* A group, or one frame. */
			for (node = last; s->n < s->most; node = nodes[node].parent) {
				s->path[s->n++] = node;
				if (node == g->head || !g->head || g->left)
					break;
			}
		} while (times-- && s->n < s->most);
		if (s->n == s->most)
			return times + 1 ? last : nodes[node].parent;
		node = nodes[node].parent;
	}
	return node;
}

/* Returns the end of the path in the new tree; UINT32_MAX: no memory. */
static uint32_t add_frames(const struct suffixes *s, bool cut, struct cct *to)
{
	uint32_t at = 0;

	for (size_t i = s->n; i-- > 0 && at != UINT32_MAX;) {
		struct cct_key key = *s->from->nodes[s->path[i]].key;

		key.repeat = key.span = 0;
		/* The call of the outermost frame is above it. */
		if (cut && i + 1 == s->n)
			key.call = key.file = key.line = 0;
		at = cct_child(to, at, &key);
	}
	return at;
}

static int shorten_all(struct suffixes *s, struct cct *to, uint32_t *map)
{
	for (size_t i = 0; i < s->from->n; i++) {
		const struct cct_node *n = &s->from->nodes[i];

		map[i] = 0;
		if (!n->samples && !n->self && !n->cost)
			continue;
		if (i)
			map[i] = add_frames(s, collect_frames(s, i) != 0, to);
		if (map[i] == UINT32_MAX)
			return -ENOMEM;
		to->nodes[map[i]].self += n->self;
		to->nodes[map[i]].samples += n->samples;
		to->nodes[map[i]].error += n->error;
		to->nodes[map[i]].cost += n->cost;
	}
	return 0;
}

int suffix_tree_new(const struct cct *from, unsigned int frames, struct cct *to, uint32_t **map)
{
	struct suffixes *s = malloc(sizeof(*s));
	struct tree_group *groups = tree_groups(from);
	int r = -ENOMEM;

	*to = (struct cct){0};
	*map = malloc(from->n * sizeof(**map));
	if (s && groups && *map && !cct_init(to)) {
		s->from = from;
		s->groups = groups;
		s->most = frames < SUFFIX_TREE_MOST ? frames : SUFFIX_TREE_MOST;
		r = shorten_all(s, to, *map);
	}
	free(s);
	free(groups);
	if (r) {
		free(*map);
		cct_free(to);
	}
	return r;
}
