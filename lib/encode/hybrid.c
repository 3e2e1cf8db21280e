/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See hybrid.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/sorted.h"
#include "encode/hybrid.h"

#define ENTRY_FRAME 8	   /* where a function is entered: the return address */
#define MOST_IMPLICIT 4096 /* contexts of one function */
#define MOST_DEPTH (1u << 31)

/* ---- frames and pushes ----------------------------------------------------------- */

static int read_frames(struct hybrid *h, const struct callgraph *cg, const struct elf_module *m,
		       struct error *why)
{
	struct frame_reader *reader;
	int err = frame_reader_open(m, &reader, why);

	for (uint32_t i = 0; !err && i < cg->n_parts; i++)
		if (frame_sizes_add(&h->frames, reader, cg->parts[i].addr,
				    cg->parts[i].addr + cg->parts[i].length))
			err = error_memory(why);
	if (!err && m->base + UINT32_MAX < cg->parts[cg->n_parts - 1].addr)
		err = error_set(why, -EINVAL, "is too large for --hybrid");
	frame_reader_close(reader);
	return err;
}

static bool part_moves(const struct hybrid *h, const struct callgraph_part *p)
{
	const struct frame_sizes *f = &h->frames;
	size_t i = SORTED_COUNT(k, f->n, f->all[k].start <= p->addr);

	if (!i)
		return true;
	for (i--; i < f->n && f->all[i].start < p->addr + p->length; i++)
		if (f->all[i].size == FRAME_SIZE_NONE)
			return true;
	return false;
}

/* Finds the functions in which no distance is known, and no context may depend on one. */
static void find_moving(struct hybrid *h, const struct callgraph *cg)
{
	for (uint32_t i = 0; i < cg->n_parts; i++)
		h->moving[cg->parts[i].func] |= part_moves(h, &cg->parts[i]);
	for (uint32_t f = 0; f < cg->n_funcs; f++) {
		const struct callgraph_func *func = &cg->funcs[f];

		h->moving[f] |= func->stray || !func->entry_len ||
				func->block_flags & PCCE_BLOCK_ASM ||
				frame_sizes_at(&h->frames, func->addr + func->entry) != ENTRY_FRAME;
	}
	for (uint32_t i = 0; i < cg->n_sites; i++)
		if (cg->sites[i].flags & PCCE_SITE_RETURNS_TWICE)
			h->moving[cg->sites[i].func] = 1;
}

/* Spreads a flag of functions along the graph's tail calls. Returns 0 or -ENOMEM. */
static int spread(uint8_t *flag, const struct callgraph *cg,
		  bool (*edge)(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item))
{
	const struct numbering_graph *g = &cg->graph;
	struct numbering_adjacency tails = {0};
	int err = numbering_adjacency_build(&tails, g->n_funcs, g->n_sites, edge, g);

	if (!err)
		err = numbering_spread(flag, g->n_funcs, &tails);
	numbering_adjacency_free(&tails);
	return err;
}

static int spread_both_ways(uint8_t *flag, const struct callgraph *cg)
{
	size_t n = cg->n_funcs, before, after;

	do {
		before = after = 0;
		for (uint32_t f = 0; f < n; f++)
			before += flag[f];
		if (spread(flag, cg, numbering_edge_tail) ||
		    spread(flag, cg, numbering_edge_tail_reverse))
			return -ENOMEM;
		for (uint32_t f = 0; f < n; f++)
			after += flag[f];
	} while (after != before);
	return 0;
}

static void make_pushes(struct hybrid *h, struct callgraph *cg)
{
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *s = &cg->sites[i];
		uint32_t size = frame_sizes_at(&h->frames, s->before + s->before_len);

		if (s->edge == NUMBERING_NO_CALLEE)
			continue;
		if (h->sizes[s->edge] && h->sizes[s->edge] != size)
			size = FRAME_SIZE_NONE;
		h->sizes[s->edge] = size;
	}
	for (uint32_t i = 0; i < cg->graph.n_sites; i++) {
		struct numbering_site *s = &cg->graph_sites[i];

		if (s->flags & NUMBERING_TAIL || s->callee == NUMBERING_NO_CALLEE)
			continue;
		if (h->moving[s->caller] || h->moving[s->callee] || h->sizes[i] == FRAME_SIZE_NONE)
			s->flags |= NUMBERING_PUSH;
	}
}

static int check_room(const struct callgraph *cg, struct error *why)
{
	static const char no_room[] = "has no room for hybrid encoding in '%s'; compile it with "
				      "-fplugin-arg-pcce_plugin-hybrid, too";

	for (uint32_t f = 0; f < cg->n_funcs; f++)
		if (!cg->funcs[f].entry_len)
			return error_set(why, -EINVAL, no_room, cg->funcs[f].name);
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *s = &cg->sites[i];
		size_t spill = s->flags & PCCE_SITE_SPILL_REGS ? PCCE_SLOT_SPILL_REGS : 0;

		if (s->target == CALLGRAPH_NONE || s->flags & PCCE_SITE_TAIL)
			continue;
		if (s->before_len < PCCE_SLOT_DIRECT + PCCE_SLOT_HYBRID + spill ||
		    (!(s->flags & PCCE_SITE_NORETURN) &&
		     s->after_len < PCCE_SLOT_DIRECT + PCCE_SLOT_HYBRID))
			return error_set(why, -EINVAL, no_room, cg->funcs[s->func].name);
	}
	return 0;
}

int hybrid_prepare(struct hybrid *h, struct callgraph *cg, const struct elf_module *m,
		   struct error *why)
{
	size_t n_funcs = cg->n_funcs + 1, n_edges = cg->graph.n_sites + 1;
	int err;

	h->moving = calloc(n_funcs, sizeof(*h->moving));
	h->roots = calloc(n_funcs, sizeof(*h->roots));
	h->cases = calloc(n_edges, sizeof(*h->cases));
	h->sizes = calloc(n_edges, sizeof(*h->sizes));
	if (!h->moving || !h->roots || !h->cases || !h->sizes)
		return error_memory(why);
	err = check_room(cg, why);
	if (!err && cg->n_parts)
		err = read_frames(h, cg, m, why);
	if (!err) {
		find_moving(h, cg);
		/* A tail call keeps the base, so both sides need it or neither does. */
		if (spread_both_ways(h->moving, cg))
			err = error_memory(why);
	}
	if (!err) {
		make_pushes(h, cg);
		/* All calls of a fixed entry slot go through it, and it begins a segment. */
		for (uint32_t f = 0; f < cg->n_funcs; f++)
			h->roots[f] = cg->graph_roots[f] || cg->funcs[f].fixed_entry;
		/* So no function needs an id with which it is entered. */
		memset(cg->graph_roots, 1, cg->n_funcs);
		memset(cg->graph_can_enter, 0, cg->n_funcs);
	}
	return err;
}

/* ---- the three cases ------------------------------------------------------------- */

struct context {
	uint32_t depth, edge; /* PCCE_NONE: a segment begins */
};

struct contexts {
	struct context *all; /* ordered by depth */
	uint32_t n;
};

struct work {
	struct hybrid *h;
	const struct callgraph *cg;
	const struct numbering *n;
	struct contexts *implicit;	/* of each function */
	bool *explicit;			/* of each function: some contexts are explicit */
	struct numbering_adjacency out; /* of each function: edges with a value */
	struct numbering_adjacency
		in; /* of each edge with a value: the functions that it leads to */
};

static uint32_t edge_size(const struct work *w, uint32_t edge)
{
	return w->h->sizes[edge];
}

/* Can the caller's implicit contexts join those of the function, by their depths? */
static bool conflicts(const struct work *w, const struct contexts *caller, uint32_t edge,
		      const struct contexts *into)
{
	uint32_t size = edge_size(w, edge), b = 0;

	if (into->n + caller->n > MOST_IMPLICIT)
		return true;
	for (uint32_t a = 0; a < caller->n; a++) {
		uint32_t depth = caller->all[a].depth + size;

		if (depth > MOST_DEPTH)
			return true;
		while (b < into->n && into->all[b].depth < depth)
			b++;
		if (b < into->n && into->all[b].depth == depth)
			return true;
	}
	return false;
}

static int join(const struct work *w, const struct contexts *caller, uint32_t edge,
		struct contexts *into)
{
	uint32_t size = edge_size(w, edge), n = into->n + caller->n, a = caller->n, b = into->n;
	struct context *all = realloc(into->all, ((size_t)n + 1) * sizeof(*all));

	if (!all)
		return -ENOMEM;
	into->all = all;
	into->n = n;
	while (a) {
		uint32_t depth = caller->all[a - 1].depth + size;

		if (b && all[b - 1].depth > depth) {
			all[--n] = all[--b];
			continue;
		}
		all[--n] = (struct context){depth, edge};
		a--;
	}
	return 0;
}

static int decide_edge(struct work *w, uint32_t caller, uint32_t edge)
{
	const uint32_t *to = w->in.item + w->in.first[edge];
	uint32_t n = w->in.first[edge + 1] - w->in.first[edge];
	const struct contexts *from = &w->implicit[caller];
	bool implicit = from->n && edge_size(w, edge);

	for (uint32_t i = 0; implicit && i < n; i++)
		implicit = !conflicts(w, from, edge, &w->implicit[to[i]]);
	w->h->cases[edge] = !implicit		  ? HYBRID_EXPLICIT
			    : w->explicit[caller] ? HYBRID_GUARDED
						  : HYBRID_IMPLICIT;
	for (uint32_t i = 0; i < n; i++) {
		if (implicit && join(w, from, edge, &w->implicit[to[i]]))
			return -ENOMEM;
		w->explicit[to[i]] |= w->h->cases[edge] != HYBRID_IMPLICIT;
	}
	return 0;
}

static int decide_function(struct work *w, uint32_t f)
{
	uint32_t *edges = w->out.item + w->out.first[f], n = w->out.first[f + 1] - w->out.first[f];
	const struct numbering_site *sites = w->cg->graph.sites;
	int err = 0;

	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k && sites[edges[k]].freq > sites[edges[k - 1]].freq; k--) {
			uint32_t other = edges[k];

			edges[k] = edges[k - 1];
			edges[k - 1] = other;
		}
	for (uint32_t i = 0; !err && i < n; i++)
		err = decide_edge(w, f, edges[i]);
	return err;
}

/* Visits callers before callees. */
static int decide_all(struct work *w, struct error *why)
{
	uint32_t n = w->cg->n_funcs, done = 0, ready = 0;
	uint32_t *left = calloc((size_t)n + 1, sizeof(*left)),
		 *queue = calloc((size_t)n + 1, sizeof(*queue));
	int err = left && queue ? 0 : error_memory(why);

	for (uint32_t i = 0; !err && i < w->in.first[w->cg->graph.n_sites]; i++)
		left[w->in.item[i]]++;
	for (uint32_t f = 0; !err && f < n; f++)
		if (!left[f])
			queue[ready++] = f;
	for (; !err && done < ready; done++) {
		uint32_t f = queue[done];

		if (decide_function(w, f))
			err = error_memory(why);
		for (uint32_t i = w->out.first[f]; !err && i < w->out.first[f + 1]; i++)
			for (uint32_t k = w->in.first[w->out.item[i]];
			     k < w->in.first[w->out.item[i] + 1]; k++)
				if (!--left[w->in.item[k]])
					queue[ready++] = w->in.item[k];
	}
	if (!err && done < n)
		err = error_set(why, -EINVAL,
				"has calls that go round in a circle; report this "
				"defect");
	free(left);
	free(queue);
	return err;
}

/* ---- the graph ------------------------------------------------------------------- */

static bool value_edge(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item)
{
	const struct work *w = ctx;

	*from = w->cg->graph.sites[i].caller;
	*item = i;
	return w->n->kind[i] == NUMBERED_VALUE;
}

static bool value_target(const void *ctx, uint32_t i, uint32_t *from, uint32_t *item)
{
	const struct work *w = ctx;

	*from = w->n->edges[i].site;
	*item = w->n->edges[i].callee;
	return *from != NUMBERING_NO_SITE;
}

/* Segments begin in the callees of pushes, and in what tail calls reach from there. */
static int find_segment_roots(struct work *w)
{
	for (uint32_t i = 0; i < w->cg->graph.n_sites; i++) {
		uint32_t callee = w->cg->graph.sites[i].callee;

		if (w->n->kind[i] == NUMBERED_PUSH && callee != NUMBERING_NO_CALLEE)
			w->h->roots[callee] = 1;
	}
	return spread(w->h->roots, w->cg, numbering_edge_tail);
}

static int begin_segments(struct work *w)
{
	for (uint32_t f = 0; f < w->cg->n_funcs; f++) {
		if (!w->h->roots[f])
			continue;
		w->implicit[f].all = malloc(sizeof(struct context));
		if (!w->implicit[f].all)
			return -ENOMEM;
		w->implicit[f].all[0] = (struct context){0, PCCE_NONE};
		w->implicit[f].n = 1;
	}
	return 0;
}

static int list_implicit(struct work *w)
{
	struct hybrid *h = w->h;
	size_t n = 0;

	for (uint32_t f = 0; f < w->cg->n_funcs; f++)
		n += w->implicit[f].n;
	h->implicit = calloc(n + 1, sizeof(*h->implicit));
	if (!h->implicit)
		return -ENOMEM;
	for (uint32_t f = 0; f < w->cg->n_funcs; f++)
		for (uint32_t i = 0; i < w->implicit[f].n; i++)
			h->implicit[h->n_implicit++] =
				(struct pcce_table_implicit){.func = f,
							     .depth = w->implicit[f].all[i].depth,
							     .site = w->implicit[f].all[i].edge};
	return 0;
}

/* The upper halves of ids count. */
static void move_values(const struct callgraph *cg, struct numbering *n)
{
	for (uint32_t i = 0; i < cg->graph.n_sites; i++)
		n->value[i] <<= 32;
	for (uint32_t f = 0; f < cg->n_funcs; f++)
		n->num_cc[f] <<= 32;
	for (size_t i = 0; i < n->n_edges; i++)
		n->edges[i].value <<= 32;
	n->largest_id <<= 32;
}

int hybrid_decide(struct hybrid *h, const struct callgraph *cg, struct numbering *n,
		  struct error *why)
{
	struct work w = {.h = h, .cg = cg, .n = n};
	int err = 0;

	w.implicit = calloc((size_t)cg->n_funcs + 1, sizeof(*w.implicit));
	w.explicit = calloc((size_t)cg->n_funcs + 1, sizeof(*w.explicit));
	if (!w.implicit || !w.explicit || find_segment_roots(&w) || begin_segments(&w) ||
	    numbering_adjacency_build(&w.out, cg->n_funcs, cg->graph.n_sites, value_edge, &w) ||
	    numbering_adjacency_build(&w.in, cg->graph.n_sites, n->n_edges, value_target, &w))
		err = error_memory(why);
	if (!err)
		err = decide_all(&w, why);
	if (!err && list_implicit(&w))
		err = error_memory(why);
	if (!err)
		move_values(cg, n);
	for (uint32_t f = 0; w.implicit && f < cg->n_funcs; f++)
		free(w.implicit[f].all);
	free(w.implicit);
	free(w.explicit);
	numbering_adjacency_free(&w.out);
	numbering_adjacency_free(&w.in);
	return err;
}

void hybrid_free(struct hybrid *h)
{
	frame_sizes_free(&h->frames);
	free(h->roots);
	free(h->cases);
	free(h->implicit);
	free(h->moving);
	free(h->sizes);
	memset(h, 0, sizeof(*h));
}
