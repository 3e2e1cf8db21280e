// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements the table of names; see names.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/oracle/digest.h"
#include "tests/oracle/names.h"

struct element {
	struct chain_keys chain;
	struct pcce_id name;
	bool used;
};

/* Open addressing with a power of two of places, at most half of them used. */
struct table {
	struct element *a;
	size_t capacity, n;
};

static struct table by_chain, by_name;

static uint64_t hash_of(const struct table *t, const struct element *e)
{
	uint64_t h;

	if (t == &by_chain)
		return mix64(e->chain.exact);
	memcpy(&h, e->name.bytes, sizeof(h));
	return mix64(h);
}

static bool same(const struct table *t, const struct element *a, const struct element *b)
{
	if (t == &by_chain)
		return a->chain.exact == b->chain.exact;
	return !memcmp(&a->name, &b->name, sizeof(a->name));
}

/* The element, or the free place where it belongs. */
static struct element *place_of(const struct table *t, const struct element *e)
{
	size_t i = hash_of(t, e) & (t->capacity - 1);

	while (t->a[i].used && !same(t, &t->a[i], e))
		i = (i + 1) & (t->capacity - 1);
	return &t->a[i];
}

static void make_room(struct table *t)
{
	struct table old = *t;

	if (2 * (t->n + 1) <= t->capacity)
		return;
	t->capacity = old.capacity ? 2 * old.capacity : 1024;
	t->a = calloc(t->capacity, sizeof(*t->a));
	if (!t->a) {
		fprintf(stderr, "step: no memory left\n");
		exit(2);
	}
	for (size_t i = 0; i < old.capacity; i++)
		if (old.a[i].used)
			*place_of(t, &old.a[i]) = old.a[i];
	free(old.a);
}

enum names_result names_add(struct chain_keys chain, const struct pcce_id *name)
{
	struct element e = {chain, *name, true}, *in_chains, *in_names;

	make_room(&by_chain);
	make_room(&by_name);
	in_chains = place_of(&by_chain, &e);
	in_names = place_of(&by_name, &e);
	if (in_chains->used)
		return same(&by_name, in_chains, &e) ? NAMES_KNOWN : NAMES_OTHER_NAME;
	if (in_names->used && in_names->chain.source != chain.source)
		return NAMES_OTHER_CHAIN;
	*in_chains = e;
	by_chain.n++;
	if (!in_names->used) {
		*in_names = e;
		by_name.n++;
	}
	return NAMES_NEW;
}
