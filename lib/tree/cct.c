/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the calling context tree as an array of nodes. A recording can have millions of nodes,
 * but only thousands of different keys (calls of the program). So each key is stored once. Hash
 * tables find keys by their contents, and nodes by the numbers of their parent and key.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/hash_table.h"
#include "tree/cct.h"

#define KEY_BYTES offsetof(struct cct_key, number)
_Static_assert(KEY_BYTES == 44, "struct cct_key has padding");

/* Keys never move: nodes point to them. */
#define BLOCK 512

HASH_TABLE_TYPE(key_table, uint32_t);

struct cct_keys {
	struct cct_key **blocks;
	uint32_t n, capacity;	/* keys; blocks */
	struct key_table table; /* number + 1 */
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

HASH_TABLE_FUNCTIONS(key_table, uint32_t, struct cct_key, struct cct_keys, *s,
		     hash_key(key_at(o, *s - 1)), !memcmp(key_at(o, *s - 1), key, KEY_BYTES));

/* NULL: no memory. */
static const struct cct_key *intern_key(struct cct_keys *k, const struct cct_key *key)
{
	uint32_t *slot = key_table_slot(&k->table, k, hash_key(key), key);
	struct cct_key *new;

	if (!slot)
		return NULL;
	if (*slot)
		return key_at(k, *slot - 1);
	if (k->n == k->capacity * BLOCK) {
		if (array_grow(&k->blocks, k->capacity, sizeof(struct cct_key *)))
			return NULL;
		k->blocks[k->capacity] = malloc(BLOCK * sizeof(struct cct_key));
		if (!k->blocks[k->capacity])
			return NULL;
		k->capacity++;
	}
	new = key_at(k, k->n);
	*new = *key;
	new->number = k->n++;
	key_table_fill(&k->table, slot, k->n);
	return new;
}

static uint64_t hash_node(uint32_t parent, uint32_t key)
{
	uint64_t h = ((uint64_t)parent << 32 | key) * 0x9e3779b97f4a7c15ULL;

	return (h ^ h >> 32) * 0xff51afd7ed558ccdULL >> 20;
}

HASH_TABLE_FUNCTIONS(cct_children, struct cct_child, struct cct_child, void, s->node,
		     hash_node(s->parent, s->key), s->parent == key->parent && s->key == key->key);

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
	t->nodes[0] = (struct cct_node){.key = intern_key(t->keys, &none)};
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
		key_table_free(&t->keys->table);
		free(t->keys);
	}
	free(t->nodes);
	cct_children_free(&t->children);
	*t = (struct cct){0};
}

void cct_settle(struct cct *t)
{
	struct cct_node *fit = realloc(t->nodes, t->n * sizeof(*fit));

	if (fit) {
		t->nodes = fit;
		t->capacity = t->n;
	}
	cct_children_free(&t->children);
}

uint32_t cct_key_count(const struct cct *t)
{
	return t->keys->n;
}

const struct cct_key *cct_key(const struct cct *t, uint32_t number)
{
	return key_at(t->keys, number);
}

/* Fills the table of children for the nodes that exist. 0 or -ENOMEM. */
static int index_children(struct cct *t)
{
	if (cct_children_reserve(&t->children, NULL, t->n))
		return -ENOMEM;
	for (size_t i = 1; i < t->n; i++) {
		struct cct_child child = {t->nodes[i].parent, t->nodes[i].key->number, i};
		uint64_t hash = hash_node(child.parent, child.key);

		cct_children_fill(&t->children, cct_children_slot(&t->children, NULL, hash, &child),
				  child);
	}
	return 0;
}

/* Not inlined, so that cct_child_of() saves fewer registers. */
__attribute__((noinline)) static uint32_t
add_child(struct cct *t, uint32_t parent, const struct cct_key *key, struct cct_child *slot)
{
	if (t->n >= UINT32_MAX - 1)
		return UINT32_MAX;
	if (t->n == t->capacity) {
		/* Grow by half only, because a tree can use most of the memory. */
		size_t want = t->capacity + t->capacity / 2 + 1;

		if (array_resize(&t->nodes, want, sizeof(*t->nodes)))
			return UINT32_MAX;
		t->capacity = want;
	}
	t->nodes[t->n] = (struct cct_node){
		.key = key, .parent = parent, .repeat_min = key->repeat, .repeat_max = key->repeat};
	cct_children_fill(&t->children, slot, (struct cct_child){parent, key->number, t->n});
	return t->n++;
}

uint32_t cct_child_of(struct cct *t, uint32_t parent, const struct cct_key *key)
{
	struct cct_child child = {.parent = parent, .key = key->number}, *slot;

	if (!t->children.limit && index_children(t))
		return UINT32_MAX;
	slot = cct_children_slot(&t->children, NULL, hash_node(parent, key->number), &child);
	if (!slot)
		return UINT32_MAX;
	return slot->node ? slot->node : add_child(t, parent, key, slot);
}

void cct_expect(const struct cct *t, uint32_t parent, const struct cct_key *key)
{
	cct_children_prefetch(&t->children, hash_node(parent, key->number));
}

const struct cct_key *cct_intern(struct cct *t, const struct cct_key *key)
{
	return intern_key(t->keys, key);
}

uint32_t cct_child(struct cct *t, uint32_t parent, const struct cct_key *key)
{
	const struct cct_key *known = intern_key(t->keys, key);

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
	if (array_grow_from(&o->list, n, &o->capacity, 256, sizeof(*o->list)))
		return -ENOMEM;
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
		t->nodes[i].total_cost = t->nodes[i].cost;
		t->nodes[i].child = 0;
	}
	for (size_t i = t->n - 1; i > 0; i--) {
		struct cct_node *n = &t->nodes[i], *parent = &t->nodes[n->parent];

		parent->total += n->total;
		parent->total_cost += n->total_cost;
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
	cct_children_free(&t->children); /* it knows old numbers */
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
	return intern_key(to->keys, &key);
}

static int merge_nodes(const struct cct *from, enum cct_merge how, struct cct *to,
		       const struct cct_key **keys, uint32_t *map)
{
	map[0] = 0;
	to->nodes[0].self = from->nodes[0].self;
	to->nodes[0].samples = from->nodes[0].samples;
	to->nodes[0].error = from->nodes[0].error;
	to->nodes[0].cost = from->nodes[0].cost;
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
		m->error += n->error;
		m->cost += n->cost;
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
