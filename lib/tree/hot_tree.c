/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prunes trees in two passes over the nodes. A child has a higher number than its parent. So a
 * backward pass finds the nodes with a hot one at or below them, and a forward pass copies these.
 */
#include <errno.h>
#include <stdlib.h>
#include "hot/parameters.h"
#include "tree/groups.h"
#include "tree/hot_tree.h"

struct pruning {
	const struct cct *from;
	struct cct *to;
	struct tree_group *groups;
	uint64_t *weights; /* by node: what the own weight, or the total, may be at most */
	uint32_t *map;
	uint8_t *keep;
	struct cct_key cold;
};

static void weigh_nodes(struct pruning *p, struct hot_tree_summary *s)
{
	for (size_t i = 0; i < p->from->n; i++) {
		p->weights[i] = p->from->nodes[i].self;
		s->n += p->weights[i];
	}
	for (size_t i = p->from->n; i-- > 1 && s->by_total;)
		p->weights[p->from->nodes[i].parent] += p->weights[i];
	for (size_t i = 0; i < p->from->n; i++)
		p->weights[i] += s->by_total ? s->unkept : hot_tree_error(s, &p->from->nodes[i]);
	s->least = hot_threshold(s->phi, s->n);
}

static void mark_kept(struct pruning *p, struct hot_tree_summary *s)
{
	for (size_t i = p->from->n; i-- > 1;) {
		bool cold = p->from->nodes[i].key->name == s->cold_name;

		if (p->weights[i] >= s->least && !cold) {
			s->hot += p->from->nodes[i].self;
			s->hot_nodes++;
			p->keep[i] = 1;
		} else if (p->keep[i]) {
			s->callers++;
		} else {
			s->removed += !cold;
		}
		p->keep[p->from->nodes[i].parent] |= p->keep[i];
	}
	p->keep[0] = 1;
}

/* Returns the node of the new tree that represents a removed node; UINT32_MAX: no memory. */
static uint32_t cold_image(struct pruning *p, uint32_t node)
{
	uint32_t at = p->from->nodes[node].parent;

	if (!p->keep[at])
		return p->map[at];
	/* [cold] is no part of a group that repeats. */
	while (p->groups[at].left)
		at = p->from->nodes[at].parent;
	return cct_child(p->to, p->map[at], &p->cold);
}

static int copy_kept(struct pruning *p)
{
	for (size_t i = 0; i < p->from->n; i++) {
		const struct cct_node *n = &p->from->nodes[i];
		struct cct_node *image;

		if (!i)
			p->map[i] = 0;
		else if (p->keep[i])
			p->map[i] = cct_child(p->to, p->map[n->parent], n->key);
		else
			p->map[i] = cold_image(p, i);
		if (p->map[i] == UINT32_MAX)
			return -ENOMEM;
		image = &p->to->nodes[p->map[i]];
		image->self += n->self;
		image->samples += n->samples;
		image->error += n->error;
		image->cost += n->cost;
	}
	return 0;
}

int hot_tree_new(const struct cct *from, struct symbol_table *names, struct cct *to, uint32_t **map,
		 struct hot_tree_summary *summary)
{
	struct pruning p = {
		.from = from,
		.to = to,
		.groups = tree_groups(from),
		.weights = malloc(from->n * sizeof(*p.weights)),
		.map = malloc(from->n * sizeof(*p.map)),
		.keep = calloc(from->n, sizeof(*p.keep)),
		.cold = {.kind = DECODE_FRAME_GAP, .module = UINT32_MAX, .func = PCCE_NONE},
	};
	int r = -ENOMEM;

	*to = (struct cct){0};
	summary->cold_name = p.cold.name = symbol_table_intern(names, HOT_TREE_COLD);
	if (p.groups && p.weights && p.map && p.keep && p.cold.name != UINT32_MAX &&
	    !cct_init(to)) {
		weigh_nodes(&p, summary);
		mark_kept(&p, summary);
		r = copy_kept(&p);
	}
	free(p.groups);
	free(p.weights);
	free(p.keep);
	if (r) {
		free(p.map);
		cct_free(to);
		return r;
	}
	*map = p.map;
	return 0;
}
