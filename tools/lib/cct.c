/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
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

static int by_total(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	int c;

	if (x->n->parent != y->n->parent)
		return x->n->parent < y->n->parent ? -1 : 1;
	if (x->n->total != y->n->total)
		return x->n->total > y->n->total ? -1 : 1;
	c = strcmp(x->name, y->name);
	if (c)
		return c;
	/* Nothing that depends on the order of the samples, so that equal profiles print alike. */
	if (x->n->key.line != y->n->key.line)
		return x->n->key.line < y->n->key.line ? -1 : 1;
	if (x->n->key.call != y->n->key.call)
		return x->n->key.call < y->n->key.call ? -1 : 1;
	if (x->n->key.repeat != y->n->key.repeat)
		return x->n->key.repeat < y->n->key.repeat ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

int cct_finish(struct cct *t, const struct names *names)
{
	struct order *order = malloc(t->n * sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < t->n; i++)
		t->nodes[i].total = t->nodes[i].self;
	for (size_t i = t->n - 1; i > 0; i--)
		t->nodes[t->nodes[i].parent].total += t->nodes[i].total;
	for (size_t i = 1; i < t->n; i++)
		order[i] = (struct order){i, &t->nodes[i], names_string(names, t->nodes[i].key.name)};
	qsort(order + 1, t->n - 1, sizeof(*order), by_total);
	for (size_t i = t->n - 1; i > 0; i--) {
		struct cct_node *parent = &t->nodes[order[i].n->parent];

		t->nodes[order[i].node].next = parent->child;
		parent->child = order[i].node;
	}
	free(order);
	return 0;
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
