/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers functions by content; nodes of one key are one function. A function's source file comes
 * from the calls that its nodes make or, for functions that call nothing, from the symbols at their
 * samples.
 */
#include <errno.h>
#include <stdlib.h>
#include "profile/functions.h"
#include "base/array.h"
#include "base/id_map.h"

struct functions_internals {
	const struct profile *p;
	struct id_map by_content;
	uint32_t *of_key; /* number of the function + 1; 0: not known yet */
};

/* Returns the number of a function; UINT32_MAX: no memory. */
static uint32_t number_function(struct functions *f, const struct function *function)
{
	uint64_t words[ID_MAP_WORDS] = {
		function->name,
		(uint64_t)function->module << 32 | function->func,
		(uint64_t)function->kind << 32 | function->flags,
	};
	struct id_map_entry *e = id_map_find(&f->in->by_content, words);

	if (!e || e->number)
		return e ? e->number - 1 : UINT32_MAX;
	if (array_grow(&f->list, f->n, sizeof(*f->list)))
		return UINT32_MAX;
	f->list[f->n] = *function;
	id_map_fill(&f->in->by_content, e, words, f->n);
	return f->n++;
}

static uint32_t function_of_key(struct functions *f, const struct cct_key *key)
{
	struct function function = {
		.name = key->name,
		.module = key->module,
		.func = key->flags & CCT_INLINED ? PCCE_NONE : key->func,
		/* A function that a tail call left is the same function. */
		.kind = key->kind == DECODE_FRAME_TAIL ? DECODE_FRAME_CALL : key->kind,
		.flags = key->flags & CCT_KERNEL,
	};
	uint32_t *known = &f->in->of_key[key->number];

	if (!*known)
		*known = number_function(f, &function) + 1;
	return *known - 1;
}

static int number_nodes(struct functions *f, const struct cct *t)
{
	for (size_t i = 1; i < t->n; i++) {
		const struct cct_node *n = &t->nodes[i];

		f->of_node[i] = function_of_key(f, n->key);
		if (f->of_node[i] == UINT32_MAX)
			return -ENOMEM;
		if (n->parent && n->key->file && !f->list[f->of_node[n->parent]].file)
			f->list[f->of_node[n->parent]].file = n->key->file;
	}
	return 0;
}

/* Files of functions that call nothing. */
static int add_leaf_file(void *ctx, const struct profile_cell *cell)
{
	struct functions *f = ctx;
	struct function *function = &f->list[f->of_node[cell->node]];
	const struct symbol_table_entry *chain;
	size_t n;

	if (!cell->node || function->file || function->flags || !cell->place.vaddr ||
	    function->kind > DECODE_FRAME_FOREIGN)
		return 0;
	n = symbol_table_at(f->in->p->names, cell->place.module, cell->place.vaddr, &chain);
	for (size_t i = 0; i < n; i++)
		if (chain[i].function == function->name) {
			function->file = chain[i].file;
			break;
		}
	return 0;
}

int functions_new(const struct profile *p, const struct cct *t, struct functions *f)
{
	*f = (struct functions){.in = calloc(1, sizeof(*f->in))};
	if (!f->in)
		return -ENOMEM;
	f->in->p = p;
	f->in->of_key = calloc(cct_key_count(t), sizeof(*f->in->of_key));
	f->of_node = malloc(t->n * sizeof(*f->of_node));
	if (f->in->of_key && f->of_node) {
		f->of_node[0] = UINT32_MAX;
		if (!number_nodes(f, t) &&
		    (t != &p->tree || !profile_instructions(p, add_leaf_file, f)))
			return 0;
	}
	functions_free(f);
	return -ENOMEM;
}

void functions_free(struct functions *f)
{
	if (f->in) {
		id_map_free(&f->in->by_content);
		free(f->in->of_key);
	}
	free(f->in);
	free(f->list);
	free(f->of_node);
	*f = (struct functions){0};
}

uint32_t functions_remark(struct functions *f, const char *text)
{
	struct function function = {
		.name = symbol_table_intern(f->in->p->names, text),
		.module = UINT32_MAX,
		.func = PCCE_NONE,
		.kind = DECODE_FRAME_GAP,
	};

	return function.name == UINT32_MAX ? UINT32_MAX : number_function(f, &function);
}
