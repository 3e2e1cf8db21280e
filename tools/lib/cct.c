/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/cct.h"

_Static_assert(sizeof(struct cct_key) == 48, "struct cct_key has padding");

static uint64_t hash_key(uint32_t parent, const struct cct_key *key)
{
	uint64_t h = parent * 0x9e3779b97f4a7c15ULL, w;

	for (size_t i = 0; i < sizeof(*key) / 8; i++) {
		memcpy(&w, (const char *)key + i * 8, 8);
		h = (h ^ w) * 0xff51afd7ed558ccdULL;
		h ^= h >> 29;
	}
	return h;
}

int cct_init(struct cct *t)
{
	static const struct cct_key none = {.module = UINT32_MAX, .func = PCCE_NONE};

	*t = (struct cct){.capacity = 1024, .n_slots = 4096};
	t->nodes = malloc(t->capacity * sizeof(*t->nodes));
	t->slots = calloc(t->n_slots, sizeof(*t->slots));
	if (!t->nodes || !t->slots) {
		cct_free(t);
		return -ENOMEM;
	}
	t->nodes[0] = (struct cct_node){.key = none};
	t->n = 1;
	return 0;
}

void cct_free(struct cct *t)
{
	free(t->nodes);
	free(t->slots);
	*t = (struct cct){0};
}

static int rehash(struct cct *t)
{
	size_t want = t->n_slots * 2;
	struct cct_slot *slots = calloc(want, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 1; i < t->n; i++) {
		uint64_t hash = hash_key(t->nodes[i].parent, &t->nodes[i].key);
		size_t at = hash & (want - 1);

		while (slots[at].node)
			at = (at + 1) & (want - 1);
		slots[at] = (struct cct_slot){hash >> 32, i};
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = want;
	return 0;
}

uint32_t cct_child(struct cct *t, uint32_t parent, const struct cct_key *key)
{
	uint64_t hash = hash_key(parent, key);
	struct cct_node *more;
	size_t at;

	if (t->n * 2 >= t->n_slots && rehash(t))
		return UINT32_MAX;
	for (at = hash & (t->n_slots - 1); t->slots[at].node; at = (at + 1) & (t->n_slots - 1)) {
		const struct cct_node *n = &t->nodes[t->slots[at].node];

		if (t->slots[at].tag == (uint32_t)(hash >> 32) && n->parent == parent &&
		    !memcmp(&n->key, key, sizeof(*key)))
			return t->slots[at].node;
	}
	if (t->n >= UINT32_MAX - 1)
		return UINT32_MAX;
	if (t->n == t->capacity) {
		more = reallocarray(t->nodes, t->capacity * 2, sizeof(*more));
		if (!more)
			return UINT32_MAX;
		t->nodes = more;
		t->capacity *= 2;
	}
	t->nodes[t->n] =
		(struct cct_node){.key = *key, .parent = parent, .repeat_min = key->repeat, .repeat_max = key->repeat};
	t->slots[at] = (struct cct_slot){hash >> 32, t->n};
	return t->n++;
}

/* ---- order ----------------------------------------------------------------------- */

struct order {
	uint32_t node;
	const struct cct_node *n;
	const char *name;
};

struct order_rules {
	const struct names *names;
	const struct sort_order *keys;
};

static int larger(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

static int smaller(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int by_key(const struct order *x, const struct order *y, enum sort_key key, const struct names *names)
{
	switch (key) {
	case SORT_TOTAL:
		return larger(x->n->total, y->n->total);
	case SORT_SELF:
		return larger(x->n->self, y->n->self);
	case SORT_SAMPLES:
		return larger(x->n->samples, y->n->samples);
	case SORT_NAME:
		return strcmp(x->name, y->name);
	case SORT_MODULE:
		return strcmp(names_base(names, x->n->key.module), names_base(names, y->n->key.module));
	case SORT_LINE:
		return smaller(x->n->key.line, y->n->key.line);
	default:
		return 0;
	}
}

static int in_order(const void *a, const void *b, void *ctx)
{
	static const enum sort_key always[] = {SORT_TOTAL, SORT_NAME, SORT_LINE};
	const struct order *x = a, *y = b;
	const struct order_rules *rules = ctx;
	int c = smaller(x->n->parent, y->n->parent);

	for (size_t i = 0; i < rules->keys->n && !c; i++)
		c = by_key(x, y, rules->keys->keys[i], rules->names);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]) && !c; i++)
		c = by_key(x, y, always[i], rules->names);
	/* Nothing that depends on the order of the samples, so that equal profiles print alike. */
	if (!c)
		c = smaller(x->n->key.call, y->n->key.call);
	if (!c)
		c = smaller(x->n->key.repeat, y->n->key.repeat);
	return c ? c : smaller(x->node, y->node);
}

int cct_sort_children(struct cct *t, uint32_t parent, uint32_t first, const struct names *names,
		      const struct sort_order *keys)
{
	struct order_rules rules = {names, keys};
	size_t n = t->n - first;
	struct order *order = malloc(n * sizeof(*order) + 1);

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		uint32_t node = first + i;

		t->nodes[node].child = 0;
		order[i] = (struct order){node, &t->nodes[node], names_string(names, t->nodes[node].key.name)};
	}
	if (n)
		qsort_r(order, n, sizeof(*order), in_order, &rules);
	t->nodes[parent].child = 0;
	for (size_t i = n; i-- > 0;) {
		struct cct_node *above = &t->nodes[order[i].n->parent];

		t->nodes[order[i].node].next = above->child;
		above->child = order[i].node;
	}
	free(order);
	return 0;
}

int cct_sort(struct cct *t, const struct names *names, const struct sort_order *order)
{
	return cct_sort_children(t, 0, 1, names, order);
}

int cct_finish(struct cct *t, const struct names *names)
{
	static const struct sort_order heaviest;

	for (size_t i = 0; i < t->n; i++)
		t->nodes[i].total = t->nodes[i].self;
	for (size_t i = t->n - 1; i > 0; i--)
		t->nodes[t->nodes[i].parent].total += t->nodes[i].total;
	return cct_sort(t, names, &heaviest);
}

int cct_merge(const struct cct *from, enum cct_merge how, struct cct *to)
{
	uint32_t *map;
	int r = cct_merge_map(from, how, to, &map);

	if (!r)
		free(map);
	return r;
}

int cct_merge_map(const struct cct *from, enum cct_merge how, struct cct *to, uint32_t **where)
{
	uint32_t *map = malloc(from->n * sizeof(*map));

	if (!map || cct_init(to)) {
		free(map);
		return -ENOMEM;
	}
	map[0] = 0;
	to->nodes[0].self = from->nodes[0].self;
	for (size_t i = 1; i < from->n; i++) {
		const struct cct_node *n = &from->nodes[i];
		struct cct_key key = n->key;
		struct cct_node *m;
		bool fresh;
		size_t before = to->n;

		key.call = 0;
		if (how == CCT_MERGE_LINES) {
			/* Whether it repeats stays part of the key, how often does not. */
			key.repeat = key.repeat != 0;
		} else {
			key.kind = key.flags = key.func = key.file = key.line = 0;
			key.module = UINT32_MAX;
		}
		map[i] = cct_child(to, map[n->parent], &key);
		if (map[i] == UINT32_MAX) {
			free(map);
			cct_free(to);
			return -ENOMEM;
		}
		fresh = to->n != before;
		m = &to->nodes[map[i]];
		m->self += n->self;
		m->samples += n->samples;
		if (fresh || n->repeat_max > m->repeat_max)
			m->repeat_max = n->repeat_max;
		if (fresh || n->repeat_min < m->repeat_min)
			m->repeat_min = n->repeat_min;
	}
	*where = map;
	return 0;
}
