/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers creation contexts with two hash tables: by the creator's encoding stack, so that each
 * stack is decoded once, and by the decoded chain, so that equal chains of different processes are
 * one. With names, a chain is a path in a separate tree. The path ends in a node for the thread,
 * which has the line of the call that created it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "base/text.h"
#include "base/array.h"
#include "base/id_map.h"
#include "tree/thread_origins.h"

/* Longer chains are cut in the middle. This many functions remain at each end. */
#define ENDS 32

struct thread_origins {
	struct symbol_table *names;
	struct cct tree;
	struct tree_builder *builder; /* NULL: without names */
	struct decode_context context;
	struct id_map stacks, chains; /* by hash */
	uint32_t *nodes;	      /* by number - 1, if there are names */
	uint32_t n;
};

struct thread_origins *thread_origins_new(struct symbol_table *names, bool inlining)
{
	struct thread_origins *o = calloc(1, sizeof(*o));

	if (!o || !names)
		return o;
	o->names = names;
	if (!cct_init(&o->tree))
		o->builder = tree_builder_new(&o->tree, names, inlining);
	if (o->builder)
		return o;
	thread_origins_free(o);
	return NULL;
}

void thread_origins_free(struct thread_origins *o)
{
	if (!o)
		return;
	tree_builder_free(o->builder);
	cct_free(&o->tree);
	decode_context_free(&o->context);
	id_map_free(&o->stacks);
	id_map_free(&o->chains);
	free(o->nodes);
	free(o);
}

static int number_chain(struct thread_origins *o, const struct decode_space *as, uint32_t *number)
{
	const struct decode_context *ctx = &o->context;
	uint64_t words[ID_MAP_WORDS] = {ctx->n, ctx->reason};
	struct id_map_entry *e;
	struct tree_spot spot;

	for (size_t i = 0; i < ctx->n; i++) {
		const struct decode_frame *f = &ctx->frames[i];
		uint64_t parts[] = {(uint64_t)f->kind << 32 | f->module,
				    (uint64_t)f->func << 32 | f->site,
				    (uint64_t)f->span << 32 | f->repeat};
		XXH128_hash_t h = XXH3_128bits_withSeed(parts, sizeof(parts), words[2]);

		words[2] = h.low64;
		words[3] = (words[3] << 1 | words[3] >> 63) ^ h.high64;
	}
	e = id_map_find(&o->chains, words);
	if (!e)
		return -ENOMEM;
	if (e->number) {
		*number = e->number;
		return 0;
	}
	if (o->builder) {
		if (array_grow(&o->nodes, o->n, sizeof(*o->nodes)) ||
		    tree_builder_add(o->builder, as, ctx, NULL, 0, &spot))
			return -ENOMEM;
		o->nodes[o->n] = spot.node;
	}
	id_map_fill(&o->chains, e, words, o->n++);
	*number = o->n;
	return 0;
}

uint32_t thread_origins_number(struct thread_origins *o, const struct decode_space *as,
			       uint32_t space, const struct pcce_entry *entries, uint32_t n)
{
	XXH128_hash_t h = XXH3_128bits(entries, n * sizeof(*entries));
	uint64_t words[ID_MAP_WORDS] = {h.low64, h.high64, space, n};
	struct id_map_entry *e = id_map_find(&o->stacks, words);
	uint32_t number;

	if (e && e->number)
		return e->number;
	if (!e || decode_origin(as, entries, n, false, &o->context) || number_chain(o, as, &number))
		return UINT32_MAX;
	id_map_fill(&o->stacks, e, words, number - 1);
	return number;
}

uint32_t thread_origins_count(const struct thread_origins *o)
{
	return o->n;
}

const struct cct *thread_origins_tree(const struct thread_origins *o)
{
	return &o->tree;
}

/* ---- text ------------------------------------------------------------------------ */

static void print_frame(const struct thread_origins *o, uint32_t node, FILE *out)
{
	const struct cct_key *key = o->tree.nodes[node].key;
	char buffer[4096];

	fputs(text_clean(symbol_table_shown(o->names, key->name), buffer, sizeof(buffer)), out);
	if (key->repeat)
		fprintf(out, " × %u", key->repeat + 1);
}

/* Prints the functions on the way from the root to a node; of very many, both ends. */
static int print_way(const struct thread_origins *o, uint32_t node, FILE *out)
{
	const struct cct_node *nodes = o->tree.nodes;
	uint32_t depth = 0, *way, at;

	for (uint32_t i = node; i; i = nodes[i].parent)
		depth++;
	way = malloc(depth * sizeof(*way) + 1);
	if (!way)
		return -ENOMEM;
	at = depth;
	for (uint32_t i = node; i; i = nodes[i].parent)
		way[--at] = i;
	for (; at < depth; at++) {
		if (at)
			fputs(TEXT_CALLS, out);
		if (depth > 2 * ENDS && at == ENDS) {
			fprintf(out, "[%u more]" TEXT_CALLS, depth - 2 * ENDS);
			at = depth - ENDS;
		}
		print_frame(o, way[at], out);
	}
	free(way);
	return 0;
}

char *thread_origins_text(const struct thread_origins *o, uint32_t number)
{
	const struct cct_node *creation = &o->tree.nodes[o->nodes[number - 1]];
	const struct cct_key *key = creation->key;
	char *text = NULL, buffer[1024];
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int r;

	if (!f)
		return NULL;
	r = print_way(o, creation->parent, f);
	if (key->file)
		fprintf(f, "  %s:%u",
			text_clean(text_base(symbol_table_string(o->names, key->file)), buffer,
				   sizeof(buffer)),
			key->line);
	if (!fclose(f) && !r)
		return text;
	free(text);
	return NULL;
}
