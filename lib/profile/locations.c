/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers locations by content with id_maps. A "chain" is a function and the functions inlined into
 * it, down to one node. Equal chains at one place are one location in all contexts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profile/locations.h"
#include "base/array.h"
#include "base/id_map.h"

#define WORDS ID_MAP_WORDS

/* The innermost function of a chain, and the rest of the chain. */
struct chain {
	uint32_t outer; /* UINT32_MAX: this is the function itself */
	uint32_t name;
	uint32_t file, line; /* in the outer function: where this one is inlined */
	uint32_t key;	     /* a key of the function: its other properties */
};

struct locations_internals {
	const struct profile *p;
	struct id_map chains_by_content, chains_by_node, functions, locations, callers, leaves;
	struct chain *chains;
	size_t n_chains;
	uint32_t *chain; /* by node */
	const struct cct_key **keys;
	size_t n_keys;
};

/* ---- chains ---------------------------------------------------------------------- */

/* Returns the number of a chain; UINT32_MAX: no memory. */
static uint32_t number_location_chain(struct locations_internals *in, const struct chain *c)
{
	const struct cct_key *key = in->keys[c->key];
	uint64_t words[WORDS] = {
		(uint64_t)c->outer << 32 | c->name,
		(uint64_t)c->file << 32 | c->line,
		(uint64_t)key->module << 32 | key->func,
		(uint64_t)key->kind << 32 | key->flags,
	};
	struct id_map_entry *e = id_map_find(&in->chains_by_content, words);

	if (!e)
		return UINT32_MAX;
	if (e->number)
		return e->number - 1;
	if (array_grow(&in->chains, in->n_chains, sizeof(*in->chains)))
		return UINT32_MAX;
	in->chains[in->n_chains] = *c;
	id_map_fill(&in->chains_by_content, e, words, in->n_chains);
	return in->n_chains++;
}

static uint32_t chain_of(struct locations_internals *in, const struct cct_node *n)
{
	const struct cct_key *key = n->key;
	bool inlined = key->flags & CCT_INLINED && n->parent;
	struct chain c = {.outer = UINT32_MAX, .name = key->name, .key = key->number};
	uint64_t words[WORDS] = {key->number, UINT32_MAX};
	struct id_map_entry *e;
	uint32_t number;

	if (inlined) {
		words[1] = c.outer = in->chain[n->parent];
		c.file = key->file;
		c.line = key->line;
	}
	e = id_map_find(&in->chains_by_node, words);
	if (!e || e->number)
		return e ? e->number - 1 : UINT32_MAX;
	number = number_location_chain(in, &c);
	if (number != UINT32_MAX)
		id_map_fill(&in->chains_by_node, e, words, number);
	return number;
}

/* ---- functions and locations ----------------------------------------------------- */

/* Returns the number of a function; UINT32_MAX: no memory. A function has one file, the first that
 * is known. Inlined functions of one name in several files are distinct. */
static uint32_t number_location_function(struct locations *l, const struct location_function *f,
					 bool inlined)
{
	uint64_t words[WORDS] = {
		f->name,
		(uint64_t)f->module << 32 | f->func,
		(uint64_t)f->kind << 32 | f->flags,
		inlined ? f->file : UINT32_MAX,
	};
	struct id_map_entry *e = id_map_find(&l->in->functions, words);

	if (!e)
		return UINT32_MAX;
	if (e->number) {
		struct location_function *known = &l->functions[e->number - 1];

		if (!known->file)
			known->file = f->file;
		return e->number - 1;
	}
	if (array_grow(&l->functions, l->n_functions, sizeof(*l->functions)))
		return UINT32_MAX;
	l->functions[l->n_functions] = *f;
	id_map_fill(&l->in->functions, e, words, l->n_functions);
	return l->n_functions++;
}

static int add_location_line(struct locations *l, const struct chain *c, uint32_t file,
			     uint32_t line)
{
	const struct cct_key *key = l->in->keys[c->key];
	struct location_function f = {
		.name = c->name,
		.file = file,
		.module = key->module,
		/* Inlined code is one function, wherever it is inlined. */
		.func = key->flags & CCT_INLINED ? PCCE_NONE : key->func,
		.kind = key->kind,
		.flags = key->flags & CCT_KERNEL,
	};
	uint32_t function = number_location_function(l, &f, key->flags & CCT_INLINED);

	if (function == UINT32_MAX || array_grow(&l->lines, l->n_lines, sizeof(*l->lines)))
		return -ENOMEM;
	l->lines[l->n_lines++] = (struct location_line){function, line};
	return 0;
}

/* Returns the number of the location of a chain at a place; LOCATION_NONE: no memory. file and
 * line: of the innermost function. */
static uint32_t number_location(struct locations *l, uint32_t chain, struct tree_place place,
				uint32_t file, uint32_t line)
{
	uint64_t words[WORDS] = {
		place.vaddr,
		(uint64_t)place.module << 32 | chain,
		(uint64_t)file << 32 | line,
	};
	struct id_map_entry *e = id_map_find(&l->in->locations, words);
	uint32_t first = l->n_lines;

	if (!e)
		return LOCATION_NONE;
	if (e->number)
		return e->number - 1;
	if (array_grow(&l->list, l->n, sizeof(*l->list)))
		return LOCATION_NONE;
	while (chain != UINT32_MAX) {
		const struct chain *c = &l->in->chains[chain];

		if (add_location_line(l, c, file, line))
			return LOCATION_NONE;
		file = c->file;
		line = c->line;
		chain = c->outer;
	}
	l->list[l->n] = (struct location){.place = place, .first = first, .n = l->n_lines - first};
	id_map_fill(&l->in->locations, e, words, l->n);
	return l->n++;
}

static uint32_t caller_of(struct locations *l, const struct cct_node *n)
{
	const struct cct_key *key = n->key, *parent = l->in->p->tree.nodes[n->parent].key;
	uint32_t chain = l->in->chain[n->parent], number;
	uint64_t words[WORDS] = {key->number, chain};
	struct id_map_entry *e = id_map_find(&l->in->callers, words);
	struct tree_place place = {.vaddr = key->call, .module = parent->module};

	if (!e || e->number)
		return e ? e->number - 1 : LOCATION_NONE;
	number = number_location(l, chain, place, key->file, key->line);
	if (number != LOCATION_NONE)
		id_map_fill(&l->in->callers, e, words, number);
	return number;
}

static int number_callers(struct locations *l)
{
	const struct cct *t = &l->in->p->tree;

	for (size_t i = 0; i < t->n; i++)
		l->in->keys[t->nodes[i].key->number] = t->nodes[i].key;
	l->in->chain[0] = UINT32_MAX;
	l->caller[0] = LOCATION_NONE;
	for (size_t i = 1; i < t->n; i++) {
		const struct cct_node *n = &t->nodes[i];

		l->in->chain[i] = chain_of(l->in, n);
		l->caller[i] = LOCATION_NONE;
		if (l->in->chain[i] == UINT32_MAX)
			return -ENOMEM;
		if (!n->parent || n->key->flags & CCT_INLINED)
			continue;
		l->caller[i] = caller_of(l, n);
		if (l->caller[i] == LOCATION_NONE)
			return -ENOMEM;
	}
	return 0;
}

int locations_new(const struct profile *p, struct locations *l)
{
	*l = (struct locations){.in = calloc(1, sizeof(*l->in))};
	if (!l->in)
		return -ENOMEM;
	l->in->p = p;
	l->in->n_keys = cct_key_count(&p->tree);
	l->in->keys = calloc(l->in->n_keys, sizeof(*l->in->keys));
	l->in->chain = malloc(p->tree.n * sizeof(*l->in->chain));
	l->caller = malloc(p->tree.n * sizeof(*l->caller));
	if (l->in->keys && l->in->chain && l->caller && !number_callers(l))
		return 0;
	locations_free(l);
	return -ENOMEM;
}

void locations_free(struct locations *l)
{
	if (l->in) {
		id_map_free(&l->in->chains_by_content);
		id_map_free(&l->in->chains_by_node);
		id_map_free(&l->in->functions);
		id_map_free(&l->in->locations);
		id_map_free(&l->in->callers);
		id_map_free(&l->in->leaves);
		free(l->in->chains);
		free(l->in->chain);
		free(l->in->keys);
	}
	free(l->in);
	free(l->functions);
	free(l->lines);
	free(l->list);
	free(l->caller);
	*l = (struct locations){0};
}

uint32_t locations_leaf(struct locations *l, uint32_t node, struct tree_place place)
{
	uint32_t chain = l->in->chain[node], file = 0, line = 0, number;
	uint64_t words[WORDS] = {place.vaddr, (uint64_t)place.module << 32 | chain};
	const struct chain *c = &l->in->chains[chain];
	const struct symbol_table_entry *symbols;
	struct id_map_entry *e = id_map_find(&l->in->leaves, words);
	size_t n;

	if (!e || e->number)
		return e ? e->number - 1 : LOCATION_NONE;
	/* A pseudo frame or a merged one has no line. */
	n = place.vaddr ? symbol_table_at(l->in->p->names, place.module, place.vaddr, &symbols) : 0;
	if (n && l->in->keys[c->key]->kind <= DECODE_FRAME_FOREIGN &&
	    !(l->in->keys[c->key]->flags & CCT_KERNEL)) {
		if (c->outer == UINT32_MAX && symbols[0].function != c->name)
			symbols +=
				n - 1; /* without inlining, the frame is the outermost function */
		file = symbols->file;
		line = symbols->line;
	}
	if (l->in->keys[c->key]->flags & CCT_KERNEL)
		place = (struct tree_place){.module = UINT32_MAX};
	number = number_location(l, chain, place, file, line);
	if (number != LOCATION_NONE)
		id_map_fill(&l->in->leaves, e, words, number);
	return number;
}

uint32_t locations_remark(struct locations *l, const char *text)
{
	struct location_function f = {
		.name = symbol_table_intern(l->in->p->names, text),
		.module = UINT32_MAX,
		.func = PCCE_NONE,
		.kind = DECODE_FRAME_GAP,
	};
	uint64_t words[WORDS] = {0, UINT64_MAX, f.name};
	struct id_map_entry *e = id_map_find(&l->in->locations, words);

	if (!e || e->number)
		return e ? e->number - 1 : LOCATION_NONE;
	if (f.name == UINT32_MAX || array_grow(&l->list, l->n, sizeof(*l->list)) ||
	    array_grow(&l->lines, l->n_lines, sizeof(*l->lines)))
		return LOCATION_NONE;
	l->lines[l->n_lines] = (struct location_line){number_location_function(l, &f, false), 0};
	if (l->lines[l->n_lines].function == UINT32_MAX)
		return LOCATION_NONE;
	l->list[l->n] =
		(struct location){.place.module = UINT32_MAX, .first = l->n_lines++, .n = 1};
	id_map_fill(&l->in->locations, e, words, l->n);
	return l->n++;
}

const char *locations_system_name(const struct locations *l, uint32_t function)
{
	const struct location_function *f = &l->functions[function];
	const struct encoding_table *t =
		f->func == PCCE_NONE ? NULL : symbol_table_table(l->in->p->names, f->module);

	return t ? encoding_table_string(t, t->funcs[f->func].name) : "";
}
