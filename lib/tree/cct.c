/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the calling context tree as an array of nodes. A recording can have millions of nodes,
 * but only thousands of different keys (calls of the program). So each key is stored once. Hash
 * tables find keys by their contents, and nodes by the numbers of their parent and key.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tree/cct.h"
#include "base/huge_alloc.h"

#define KEY_BYTES offsetof(struct cct_key, number)
_Static_assert(KEY_BYTES == 44, "struct cct_key has padding");

/* Keys never move: nodes point to them. */
#define BLOCK 512

struct cct_keys {
	struct cct_key **blocks;
	uint32_t n, capacity; /* keys; blocks */
	uint32_t *slots;      /* number + 1; 0: free */
	size_t n_slots;
};

static struct cct_key *key_at(const struct cct_keys *k, uint32_t number)
{
	return &k->blocks[number / BLOCK][number % BLOCK];
}

static uint64_t hash_key(const struct cct_key *key)
{
	uint64_t h = 0, w[6] = {0};

	memcpy(w, key, KEY_BYTES);
	for (size_t i = 0; i < 6; i++) {
		h = (h ^ w[i]) * 0xff51afd7ed558ccdULL;
		h ^= h >> 29;
	}
	return h;
}

static int rehash_keys(struct cct_keys *k)
{
	size_t want = k->n_slots ? k->n_slots * 2 : 1024;
	uint32_t *slots = huge_alloc(want, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < k->n; i++) {
		size_t at = hash_key(key_at(k, i)) & (want - 1);

		while (slots[at])
			at = (at + 1) & (want - 1);
		slots[at] = i + 1;
	}
	free(k->slots);
	k->slots = slots;
	k->n_slots = want;
	return 0;
}

/* NULL: no memory. */
static const struct cct_key *intern(struct cct_keys *k, const struct cct_key *key)
{
	struct cct_key *new;
	size_t at;

	if ((size_t)k->n * 2 >= k->n_slots && rehash_keys(k))
		return NULL;
	for (at = hash_key(key) & (k->n_slots - 1); k->slots[at]; at = (at + 1) & (k->n_slots - 1))
		if (!memcmp(key_at(k, k->slots[at] - 1), key, KEY_BYTES))
			return key_at(k, k->slots[at] - 1);
	if (k->n == k->capacity * BLOCK) {
		struct cct_key **more =
			reallocarray(k->blocks, k->capacity + 1, sizeof(struct cct_key *));

		if (!more)
			return NULL;
		k->blocks = more;
		more[k->capacity] = malloc(BLOCK * sizeof(struct cct_key));
		if (!more[k->capacity])
			return NULL;
		k->capacity++;
	}
	new = key_at(k, k->n);
	*new = *key;
	new->number = k->n++;
	k->slots[at] = k->n;
	return new;
}

int cct_init(struct cct *t)
{
	static const struct cct_key none = {.module = UINT32_MAX, .func = PCCE_NONE};

	*t = (struct cct){.capacity = 1024};
	t->nodes = malloc(t->capacity * sizeof(*t->nodes));
	t->keys = calloc(1, sizeof(*t->keys));
	if (!t->nodes || !t->keys) {
		cct_free(t);
		return -ENOMEM;
	}
	t->nodes[0] = (struct cct_node){.key = intern(t->keys, &none)};
	t->n = 1;
	if (t->nodes[0].key)
		return 0;
	cct_free(t);
	return -ENOMEM;
}

void cct_free(struct cct *t)
{
	if (t->keys) {
		for (uint32_t i = 0; i < t->keys->capacity; i++)
			free(t->keys->blocks[i]);
		free(t->keys->blocks);
		free(t->keys->slots);
		free(t->keys);
	}
	free(t->nodes);
	free(t->slots);
	*t = (struct cct){0};
}

void cct_settle(struct cct *t)
{
	struct cct_node *fit = realloc(t->nodes, t->n * sizeof(*fit));

	if (fit) {
		t->nodes = fit;
		t->capacity = t->n;
	}
	free(t->slots);
	t->slots = NULL;
	t->n_slots = 0;
}

uint32_t cct_key_count(const struct cct *t)
{
	return t->keys->n;
}

const struct cct_key *cct_key(const struct cct *t, uint32_t number)
{
	return key_at(t->keys, number);
}

static uint64_t hash_node(uint32_t parent, uint32_t key)
{
	uint64_t h = ((uint64_t)parent << 32 | key) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 20;
}

static int rehash(struct cct *t)
{
	size_t want = t->n_slots ? t->n_slots : 4096;
	struct cct_slot *slots;

	while (t->n * 4 >= want * 3)
		want *= 2;
	slots = huge_alloc(want, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 1; i < t->n; i++) {
		const struct cct_node *n = &t->nodes[i];
		size_t at = hash_node(n->parent, n->key->number) & (want - 1);

		while (slots[at].node)
			at = (at + 1) & (want - 1);
		slots[at] = (struct cct_slot){n->parent, n->key->number, i};
	}
	free(t->slots);
	t->slots = slots;
	t->n_slots = want;
	return 0;
}

uint32_t cct_child_of(struct cct *t, uint32_t parent, const struct cct_key *key)
{
	struct cct_node *more;
	size_t at;

	if (t->n * 4 >= t->n_slots * 3 && rehash(t))
		return UINT32_MAX;
	at = hash_node(parent, key->number) & (t->n_slots - 1);
	for (; t->slots[at].node; at = (at + 1) & (t->n_slots - 1))
		if (t->slots[at].parent == parent && t->slots[at].key == key->number)
			return t->slots[at].node;
	if (t->n >= UINT32_MAX - 1)
		return UINT32_MAX;
	if (t->n == t->capacity) {
		/* Grow by half only, because a tree can use most of the memory. */
		size_t want = t->capacity + t->capacity / 2 + 1;

		more = reallocarray(t->nodes, want, sizeof(*more));
		if (!more)
			return UINT32_MAX;
		t->nodes = more;
		t->capacity = want;
	}
	t->nodes[t->n] = (struct cct_node){
		.key = key, .parent = parent, .repeat_min = key->repeat, .repeat_max = key->repeat};
	t->slots[at] = (struct cct_slot){parent, key->number, t->n};
	return t->n++;
}

void cct_expect(const struct cct *t, uint32_t parent, const struct cct_key *key)
{
	if (t->n_slots)
		__builtin_prefetch(&t->slots[hash_node(parent, key->number) & (t->n_slots - 1)]);
}

const struct cct_key *cct_intern(struct cct *t, const struct cct_key *key)
{
	return intern(t->keys, key);
}

uint32_t cct_child(struct cct *t, uint32_t parent, const struct cct_key *key)
{
	const struct cct_key *known = intern(t->keys, key);

	return known ? cct_child_of(t, parent, known) : UINT32_MAX;
}

/* ---- order ----------------------------------------------------------------------- */

struct order {
	uint32_t node;
	const struct cct_node *n;
	const char *name;
};

struct order_rules {
	const struct symbol_table *names;
	const struct cct_sort_order *keys;
};

static int larger(uint64_t x, uint64_t y)
{
	return x > y ? -1 : x < y;
}

static int smaller(uint64_t x, uint64_t y)
{
	return x < y ? -1 : x > y;
}

static int compare_siblings_by(const struct order *x, const struct order *y, enum cct_sort_key key,
			       const struct symbol_table *names)
{
	switch (key) {
	case CCT_SORT_TOTAL:
		return larger(x->n->total, y->n->total);
	case CCT_SORT_SELF:
		return larger(x->n->self, y->n->self);
	case CCT_SORT_SAMPLES:
		return larger(x->n->samples, y->n->samples);
	case CCT_SORT_NAME:
		return strcmp(x->name, y->name);
	case CCT_SORT_MODULE:
		return strcmp(symbol_table_base(names, x->n->key->module),
			      symbol_table_base(names, y->n->key->module));
	case CCT_SORT_LINE:
		return smaller(x->n->key->line, y->n->key->line);
	default:
		return 0;
	}
}

static int compare_siblings(const void *a, const void *b, void *ctx)
{
	static const enum cct_sort_key always[] = {CCT_SORT_TOTAL, CCT_SORT_NAME, CCT_SORT_LINE};
	const struct order *x = a, *y = b;
	const struct order_rules *rules = ctx;
	int c = smaller(x->n->parent, y->n->parent);

	for (size_t i = 0; i < rules->keys->n && !c; i++)
		c = compare_siblings_by(x, y, rules->keys->keys[i], rules->names);
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]) && !c; i++)
		c = compare_siblings_by(x, y, always[i], rules->names);
	/* The order must not depend on the order of samples, so that equal profiles print equal
	 * text. */
	if (!c)
		c = smaller(x->n->key->call, y->n->key->call);
	if (!c)
		c = smaller(x->n->key->repeat, y->n->key->repeat);
	return c ? c : smaller(x->node, y->node);
}

struct orders {
	struct order_rules rules;
	struct order *list;
	size_t capacity;
};

static int add_order(const struct cct *t, uint32_t node, struct orders *o, size_t n)
{
	if (n == o->capacity) {
		size_t want = o->capacity ? o->capacity * 2 : 256;
		struct order *more = reallocarray(o->list, want, sizeof(*more));

		if (!more)
			return -ENOMEM;
		o->list = more;
		o->capacity = want;
	}
	o->list[n] = (struct order){node, &t->nodes[node],
				    symbol_table_string(o->rules.names, t->nodes[node].key->name)};
	return 0;
}

static void link_in_order(struct cct *t, uint32_t parent, struct orders *o, size_t n)
{
	if (n > 1)
		qsort_r(o->list, n, sizeof(*o->list), compare_siblings, &o->rules);
	t->nodes[parent].child = 0;
	while (n) {
		uint32_t c = o->list[--n].node;

		t->nodes[c].next = t->nodes[parent].child;
		t->nodes[parent].child = c;
	}
}

int cct_sort_children(struct cct *t, uint32_t parent, uint32_t first,
		      const struct symbol_table *names, const struct cct_sort_order *keys)
{
	struct orders o = {.rules = {names, keys}};
	size_t n = 0;
	int r = 0;

	for (size_t i = first; i < t->n && !r; i++) {
		t->nodes[i].child = 0;
		r = add_order(t, i, &o, n++);
	}
	if (!r)
		link_in_order(t, parent, &o, n);
	free(o.list);
	return r;
}

int cct_sort(struct cct *t, const struct symbol_table *names, const struct cct_sort_order *keys)
{
	struct orders o = {.rules = {names, keys}};
	int r = 0;

	for (size_t i = 0; i < t->n && !r; i++) {
		size_t n = 0;

		if (!t->nodes[i].child || !t->nodes[t->nodes[i].child].next)
			continue;
		for (uint32_t c = t->nodes[i].child; c && !r; c = t->nodes[c].next)
			r = add_order(t, c, &o, n++);
		if (!r)
			link_in_order(t, i, &o, n);
	}
	free(o.list);
	return r;
}

int cct_finish(struct cct *t, const struct symbol_table *names)
{
	static const struct cct_sort_order heaviest;

	for (size_t i = 0; i < t->n; i++) {
		t->nodes[i].total = t->nodes[i].self;
		t->nodes[i].child = 0;
	}
	for (size_t i = t->n - 1; i > 0; i--) {
		struct cct_node *n = &t->nodes[i], *parent = &t->nodes[n->parent];

		parent->total += n->total;
		n->next = parent->child;
		parent->child = i;
	}
	return cct_sort(t, names, &heaviest);
}

static uint32_t next_in_preorder(const struct cct *t, uint32_t node)
{
	if (t->nodes[node].child)
		return t->nodes[node].child;
	while (node && !t->nodes[node].next)
		node = t->nodes[node].parent;
	return node ? t->nodes[node].next : 0;
}

int cct_preorder(struct cct *t, uint32_t **map)
{
	struct cct_node *nodes = malloc(t->n * sizeof(*nodes));
	uint32_t *to = malloc(t->n * sizeof(*to)), node = 0, n = 0;

	if (!nodes || !to) {
		free(nodes);
		free(to);
		return -ENOMEM;
	}
	do {
		to[node] = n;
		nodes[n] = t->nodes[node];
		nodes[n].parent = to[nodes[n].parent];
		n++;
		node = next_in_preorder(t, node);
	} while (node);
	/* child and next still have old numbers here. */
	for (uint32_t i = 0; i < n; i++) {
		nodes[i].child = nodes[i].child ? i + 1 : 0;
		nodes[i].next = nodes[i].next ? to[nodes[i].next] : 0;
	}
	free(t->nodes);
	t->nodes = nodes;
	t->capacity = t->n;
	free(t->slots); /* they have old numbers */
	t->slots = NULL;
	t->n_slots = 0;
	*map = to;
	return 0;
}

/* ---- merging --------------------------------------------------------------------- */

static const struct cct_key *merged_key(const struct cct_key *from, enum cct_merge how,
					struct cct *to)
{
	struct cct_key key = *from;

	key.call = 0;
	if (how == CCT_MERGE_LINES) {
		/* The key tells whether the node repeats, but not how often. */
		key.repeat = key.repeat != 0;
	} else {
		key.kind = key.flags = key.func = key.file = key.line = 0;
		key.module = UINT32_MAX;
	}
	return intern(to->keys, &key);
}

static int merge_nodes(const struct cct *from, enum cct_merge how, struct cct *to,
		       const struct cct_key **keys, uint32_t *map)
{
	map[0] = 0;
	to->nodes[0].self = from->nodes[0].self;
	to->nodes[0].samples = from->nodes[0].samples;
	for (size_t i = 1; i < from->n; i++) {
		const struct cct_node *n = &from->nodes[i];
		const struct cct_key **key = &keys[n->key->number];
		size_t before = to->n;
		struct cct_node *m;
		bool fresh;

		if (!*key)
			*key = merged_key(n->key, how, to);
		map[i] = *key ? cct_child_of(to, map[n->parent], *key) : UINT32_MAX;
		if (map[i] == UINT32_MAX)
			return -ENOMEM;
		fresh = to->n != before;
		m = &to->nodes[map[i]];
		m->self += n->self;
		m->samples += n->samples;
		if (fresh || n->repeat_max > m->repeat_max)
			m->repeat_max = n->repeat_max;
		if (fresh || n->repeat_min < m->repeat_min)
			m->repeat_min = n->repeat_min;
	}
	return 0;
}

int cct_merge_map(const struct cct *from, enum cct_merge how, struct cct *to, uint32_t **where)
{
	const struct cct_key **keys = calloc(cct_key_count(from), sizeof(*keys));
	uint32_t *map = malloc(from->n * sizeof(*map));
	int r = -ENOMEM;

	if (keys && map && !cct_init(to)) {
		r = merge_nodes(from, how, to, keys, map);
		if (r)
			cct_free(to);
		else
			cct_settle(to);
	}
	free(keys);
	if (r)
		free(map);
	else
		*where = map;
	return r;
}

int cct_merge(const struct cct *from, enum cct_merge how, struct cct *to)
{
	uint32_t *map;
	int r = cct_merge_map(from, how, to, &map);

	if (!r)
		free(map);
	return r;
}

uint32_t cct_next(const struct cct *t, uint32_t node, bool skip, unsigned int *depth)
{
	if (!skip && t->nodes[node].child) {
		++*depth;
		return t->nodes[node].child;
	}
	while (node && !t->nodes[node].next) {
		node = t->nodes[node].parent;
		--*depth;
	}
	return node ? t->nodes[node].next : 0;
}
