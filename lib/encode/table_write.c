/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes the encoding table. The addresses alone determine the order of everything in it, and
 * padding is zero. So equal input gives equal bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "base/array.h"
#include "base/sorted.h"
#include "base/uthash.h"
#include "encode/table_write.h"

struct interned {
	const char *text;
	uint32_t offset;
	UT_hash_handle hh;
};

/* The table's strings. Equal strings are stored once. */
struct strings {
	char *bytes;
	size_t n, capacity;
	struct interned *index;
};

static int strings_add(struct strings *s, const char *text, uint32_t *offset)
{
	size_t length = strlen(text) + 1;
	struct interned *known;

	HASH_FIND_STR(s->index, text, known);
	if (known) {
		*offset = known->offset;
		return 0;
	}
	if (array_reserve(&s->bytes, &s->capacity, s->n + length, 1))
		return -ENOMEM;
	known = malloc(sizeof(*known));
	if (!known)
		return -ENOMEM;
	known->text = text;
	known->offset = *offset = s->n;
	memcpy(s->bytes + s->n, text, length);
	s->n += length;
	HASH_ADD_KEYPTR(hh, s->index, known->text, length - 1, known);
	if (!hash_added(known)) {
		free(known);
		return -ENOMEM;
	}
	return s->n > INT32_MAX ? -ENOMEM : 0;
}

static void strings_free(struct strings *s)
{
	hash_free(s->index, free);
	free(s->bytes);
}

static int compare_table_sites(const void *pa, const void *pb)
{
	const struct pcce_table_site *a = pa, *b = pb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

COMPARE_BY2(compare_tails, struct pcce_table_tail, from, to);

struct builder {
	const struct callgraph *cg;
	const struct numbering *n;
	const struct hybrid *hybrid; /* NULL: not hybrid */
	struct pcce_table head;
	struct pcce_table_hybrid head_hybrid;
	struct pcce_table_frame *frames;
	struct pcce_table_implicit *implicit;
	struct pcce_table_func *funcs;
	struct pcce_table_part *parts;
	struct pcce_table_edge *edges;
	uint64_t n_edges;
	struct pcce_table_tail *tails;
	struct pcce_table_landing *landings;
	struct strings strings;
};

static int build_functions(struct builder *b)
{
	const struct numbering *n = b->n;
	uint32_t empty, type;

	if (strings_add(&b->strings, "", &empty) || strings_add(&b->strings, "[type]", &type))
		return -ENOMEM;
	for (uint32_t f = 0; f < b->cg->n_funcs; f++) {
		const struct callgraph_func *func = &b->cg->funcs[f];
		struct pcce_table_func *out = &b->funcs[f];

		*out = (struct pcce_table_func){.addr = func->addr, .num_cc = n->num_cc[f]};
		if (strings_add(&b->strings, func->name, &out->name))
			return -ENOMEM;
		out->flags = ((b->hybrid ? b->hybrid->roots[f] : n->root[f]) ? PCCE_FUNC_ROOT : 0) |
			     (b->hybrid && !b->hybrid->moving[f] ? PCCE_FUNC_DEPTH : 0) |
			     (n->entered[f] ? PCCE_FUNC_ENTERED : 0) |
			     (n->tail_out[f] ? PCCE_FUNC_TAIL_OUT : 0) |
			     (func->block_flags & PCCE_BLOCK_RESTORES ? PCCE_FUNC_RESTORES : 0) |
			     (func->block_flags & PCCE_BLOCK_GATE ? PCCE_FUNC_GATE : 0);
		if (func->sets_id)
			out->entry = patch_behind_entry(func) - func->addr;
	}
	for (uint32_t i = 0; i < b->cg->n_types; i++)
		b->funcs[b->cg->n_funcs + i] = (struct pcce_table_func){
			.addr = UINT64_MAX - b->cg->n_types + i,
			.num_cc = n->num_cc[b->cg->n_funcs + i],
			.name = type,
			.flags = PCCE_FUNC_TYPE,
		};
	for (uint32_t p = 0; p < b->cg->n_parts; p++)
		b->parts[p] = (struct pcce_table_part){b->cg->parts[p].addr, b->cg->parts[p].length,
						       b->cg->parts[p].func};
	return 0;
}

static int build_sites(struct builder *b, struct pcce_table_site *sites, struct error *why)
{
	uint32_t n_tails = 0;

	for (uint32_t i = 0; i < b->cg->n_sites; i++) {
		const struct callgraph_site *s = &b->cg->sites[i];
		struct pcce_table_site *out = &sites[i];

		out->func = s->func;
		out->callee = s->target == CALLGRAPH_INSIDE || s->target == CALLGRAPH_TYPE ||
					      s->target == CALLGRAPH_MEMBER
				      ? s->callee
				      : PCCE_NONE;
		out->flags = s->flags;
		out->line = s->line;
		if (s->target == CALLGRAPH_OUTSIDE && s->callee_name &&
		    strings_add(&b->strings, s->callee_name, &out->callee_name))
			return error_memory(why);
		b->head.n_push_sites += out->kind == PCCE_KIND_PUSH;
		if (out->kind == PCCE_KIND_TAIL && s->target == CALLGRAPH_INSIDE)
			b->tails[n_tails++] = (struct pcce_table_tail){s->func, s->callee};
	}
	qsort(sites, b->cg->n_sites, sizeof(*sites), compare_table_sites);
	for (uint32_t i = 1; i < b->cg->n_sites; i++)
		if (sites[i].key == sites[i - 1].key)
			return error_set(
				why, -EINVAL,
				"has damaged site records: two sites of '%s' have one address",
				b->cg->funcs[sites[i].func].name);
	qsort(b->tails, n_tails, sizeof(*b->tails), compare_tails);
	for (uint32_t i = 0; i < n_tails; i++)
		if (!i || compare_tails(&b->tails[i], &b->tails[b->head.tails.count - 1]))
			b->tails[b->head.tails.count++] = b->tails[i];
	return 0;
}

/* Returns the last site whose key is at most key. */
static uint32_t find_site_key(const struct pcce_table_site *sites, uint32_t n, uint64_t key)
{
	uint32_t behind = SORTED_COUNT(i, n, sites[i].key <= key);

	return behind ? behind - 1 : 0;
}

COMPARE_BY1(compare_landings, struct pcce_table_landing, site);

static void build_landings(struct builder *b, const struct pcce_table_site *sites,
			   const uint64_t *keys)
{
	uint32_t n = b->cg->n_sites;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t pad = b->cg->sites[i].landing;
		struct pcce_table_landing l;

		if (!pad)
			continue;
		l = (struct pcce_table_landing){find_site_key(sites, n, keys[i]),
						find_site_key(sites, n, pad)};
		if (sites[l.pad].key == pad && sites[l.pad].kind == PCCE_KIND_RESTORE &&
		    sites[l.pad].func == sites[l.site].func)
			b->landings[b->head.landings.count++] = l;
	}
	qsort(b->landings, b->head.landings.count, sizeof(*b->landings), compare_landings);
}

static void add_edge(struct builder *b, const struct numbering_edge *e, const uint32_t *first)
{
	struct pcce_table_edge *out = &b->edges[b->n_edges];

	if (e->site == NUMBERING_NO_SITE) {
		*out = (struct pcce_table_edge){e->value, PCCE_NONE, e->start};
		b->n_edges++;
	} else if (first[e->site] != PCCE_NONE &&
		   !(b->hybrid && b->hybrid->cases[e->site] == HYBRID_IMPLICIT)) {
		*out = (struct pcce_table_edge){e->value, first[e->site],
						e->callee != b->cg->graph_sites[e->site].callee};
		b->n_edges++;
	}
}

/* Builds what only hybrid encoding has. first: as in build_edges(). */
static void build_hybrid(struct builder *b, const uint32_t *first)
{
	const struct hybrid *h = b->hybrid;

	for (size_t i = 0; i < h->frames.n; i++)
		b->frames[i] = (struct pcce_table_frame){
			(uint32_t)(h->frames.all[i].start - b->head.base), h->frames.all[i].size};
	b->head_hybrid.frames.count = h->frames.n;
	for (size_t i = 0; i < h->n_implicit; i++) {
		b->implicit[i] = h->implicit[i];
		if (h->implicit[i].site != PCCE_NONE)
			b->implicit[i].site = first[h->implicit[i].site];
	}
	b->head_hybrid.implicit.count = h->n_implicit;
}

/*
 * Builds the in-edges. A site that was left out, since its type has no code, has none. The edges of
 * a site with copies name the first copy in the table. first has one element for each site of the
 * graph. keys has that of each site of the call graph, before the sorting.
 */
static int build_edges(struct builder *b, const struct pcce_table_site *sites, const uint64_t *keys,
		       struct error *why)
{
	uint32_t *first = malloc(((size_t)b->cg->graph.n_sites + 1) * sizeof(*first));

	if (!first)
		return error_memory(why);
	memset(first, 0xff, (size_t)b->cg->graph.n_sites * sizeof(*first));
	for (uint32_t i = 0; i < b->cg->n_sites; i++) {
		uint32_t edge = b->cg->sites[i].edge;
		uint32_t site;

		if (edge == NUMBERING_NO_CALLEE || b->n->kind[edge] != NUMBERED_VALUE)
			continue;
		site = find_site_key(sites, b->cg->n_sites, keys[i]);
		if (site < first[edge])
			first[edge] = site;
	}
	for (uint32_t f = 0; f < b->cg->graph.n_funcs; f++) {
		b->funcs[f].first_edge = (uint32_t)b->n_edges;
		for (uint32_t i = b->n->first_edge[f]; i < b->n->first_edge[f + 1]; i++)
			add_edge(b, &b->n->edges[i], first);
		b->funcs[f].n_edges = (uint32_t)b->n_edges - b->funcs[f].first_edge;
	}
	if (b->hybrid)
		build_hybrid(b, first);
	free(first);
	return 0;
}

static uint64_t place_array(struct pcce_table_array *a, uint64_t at, uint64_t count, size_t element)
{
	a->offset = at;
	a->count = count;
	return (at + count * element + 7) & ~7ull;
}

static int assemble_table(struct builder *b, const struct pcce_table_site *sites,
			  const struct site_records *r, void **table, size_t *size,
			  struct error *why)
{
	struct pcce_table *h = &b->head;
	struct pcce_table_hybrid *y = &b->head_hybrid;
	uint64_t at = h->header_size;
	char *out;

	at = place_array(&h->funcs, at, b->cg->n_funcs + b->cg->n_types, sizeof(*b->funcs));
	at = place_array(&h->parts, at, b->cg->n_parts, sizeof(*b->parts));
	at = place_array(&h->sites, at, b->cg->n_sites, sizeof(*sites));
	at = place_array(&h->edges, at, b->n_edges, sizeof(*b->edges));
	at = place_array(&h->tails, at, h->tails.count, sizeof(*b->tails));
	at = place_array(&h->helpers, at, r->n_helpers, sizeof(*r->helpers));
	at = place_array(&h->landings, at, h->landings.count, sizeof(*b->landings));
	if (b->hybrid) {
		at = place_array(&y->frames, at, y->frames.count, sizeof(*b->frames));
		at = place_array(&y->implicit, at, y->implicit.count, sizeof(*b->implicit));
	}
	at = place_array(&h->strings, at, b->strings.n, 1);
	h->size = at;
	out = calloc(1, at);
	if (!out)
		return error_memory(why);
	memcpy(out + h->funcs.offset, b->funcs, h->funcs.count * sizeof(*b->funcs));
	memcpy(out + h->parts.offset, b->parts, h->parts.count * sizeof(*b->parts));
	memcpy(out + h->sites.offset, sites, h->sites.count * sizeof(*sites));
	memcpy(out + h->edges.offset, b->edges, h->edges.count * sizeof(*b->edges));
	memcpy(out + h->tails.offset, b->tails, h->tails.count * sizeof(*b->tails));
	if (r->n_helpers)
		memcpy(out + h->helpers.offset, r->helpers, h->helpers.count * sizeof(*r->helpers));
	memcpy(out + h->landings.offset, b->landings, h->landings.count * sizeof(*b->landings));
	memcpy(out + h->strings.offset, b->strings.bytes, h->strings.count);
	memcpy(out, h, sizeof(*h));
	if (b->hybrid) {
		memcpy(out + y->frames.offset, b->frames, y->frames.count * sizeof(*b->frames));
		memcpy(out + y->implicit.offset, b->implicit,
		       y->implicit.count * sizeof(*b->implicit));
		memcpy(out + sizeof(*h), y, sizeof(*y));
	}
	((struct pcce_table *)out)->crc = crc32_z(0, (unsigned char *)out, at);
	*table = out;
	*size = at;
	return 0;
}

int table_write(const struct elf_module *m, const struct callgraph *cg, const struct numbering *n,
		const struct hybrid *hybrid, const struct site_records *r,
		const struct patch_page *page, struct pcce_table_site *sites, void **table,
		size_t *size, struct error *why)
{
	struct builder b = {
		.cg = cg,
		.n = n,
		.hybrid = hybrid,
		.head =
			{
				.magic = PCCE_TABLE_MAGIC,
				.version = PCCE_TABLE_VERSION,
				.header_size = sizeof(struct pcce_table) +
					       (hybrid ? sizeof(b.head_hybrid) : 0),
				.flags = (hybrid ? PCCE_TABLE_HYBRID : 0) |
					 (page->executable ? PCCE_TABLE_EXEC : 0) |
					 (page->hidden ? PCCE_TABLE_HIDDEN : 0),
				.base = m->base,
				.largest_id = n->largest_id,
				.tpoff = page->executable ? page->offset : 0,
				.got = page->got,
				.n_back_edges = n->n_back,
				.n_cut_edges = n->n_cut,
			},
	};
	uint64_t *keys = malloc(((size_t)cg->n_sites + 1) * sizeof(*keys));
	int err = -ENOMEM;

	b.funcs = calloc((size_t)cg->n_funcs + cg->n_types + 1, sizeof(*b.funcs));
	b.parts = calloc((size_t)cg->n_parts + 1, sizeof(*b.parts));
	b.edges = calloc(n->n_edges + 1, sizeof(*b.edges));
	b.tails = calloc((size_t)cg->n_sites + 1, sizeof(*b.tails));
	b.frames = calloc((hybrid ? hybrid->frames.n : 0) + 1, sizeof(*b.frames));
	b.implicit = calloc((hybrid ? hybrid->n_implicit : 0) + 1, sizeof(*b.implicit));
	b.landings = calloc((size_t)cg->n_sites + 1, sizeof(*b.landings));
	if (!keys || !b.frames || !b.implicit || !b.funcs || !b.parts || !b.edges || !b.tails ||
	    !b.landings || build_functions(&b)) {
		error_memory(why);
		goto out;
	}
	for (uint32_t i = 0; i < cg->n_sites; i++)
		keys[i] = sites[i].key;
	err = build_sites(&b, sites, why);
	if (!err)
		err = build_edges(&b, sites, keys, why);
	if (!err) {
		build_landings(&b, sites, keys);
		err = assemble_table(&b, sites, r, table, size, why);
	}
out:
	free(keys);
	free(b.funcs);
	free(b.parts);
	free(b.edges);
	free(b.tails);
	free(b.landings);
	free(b.frames);
	free(b.implicit);
	strings_free(&b.strings);
	return err;
}
