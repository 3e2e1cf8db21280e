/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decides for each edge of the call graph which of the paper's three cases it is, then replays a
 * counted run.
 *
 *   case a  The offsets of its contexts conflict with those of an earlier edge: it adds.
 *   case b  All contexts of the caller are implicit and no offset conflicts: it does nothing.
 *   case c  Some contexts of the caller are implicit and no offset conflicts: a guard adds if the
 *           id is not 0.
 *
 * A frame whose size is not fixed would make all offsets above it useless.  So a call from such a
 * frame is made a push: a segment begins, and its offsets count from there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/abi.h>
#include "bench/papers/hybrid.h"

enum hybrid_case { CASE_NONE, CASE_GUARD, CASE_ADD };

struct offsets {
	uint32_t *item; /* sorted, without repetitions */
	uint32_t n;
};

struct edge {
	uint64_t count; /* in the run */
	uint64_t shift; /* what it adds */
	uint32_t frame; /* size of the caller's frame at the call; 0: not fixed */
	uint8_t what;	/* enum hybrid_case */
	bool seen, noted;
};

struct work {
	struct program *p;
	const struct count_file *tree;
	const struct hybrid_options *options;
	struct numbering n;
	struct edge *edges;
	struct offsets *implicit; /* of each function */
	uint64_t *contexts;	  /* of each function: their number */
	uint64_t *width;	  /* of each function: 1 + the largest id */
	uint32_t *first, *in;	  /* edges by callee, in the order in which they get ids */
	struct hybrid *out;
};

/* ---- the graph ------------------------------------------------------------------- */

static bool has_value(const struct work *w, uint32_t edge)
{
	return w->n.kind[edge] == NUMBERED_VALUE;
}

static const struct callgraph_site *site_of(const struct work *w, const struct count_node *node)
{
	return program_site(w->p, node->address - w->tree->base + w->p->module.base);
}

/* Copies of one call have one edge.  It has a frame only if all of them have the same. */
static void read_edges(struct work *w, const struct frames *frames)
{
	const struct callgraph *g = &w->p->graph;

	for (uint32_t i = 0; i < g->n_sites; i++) {
		const struct callgraph_site *s = &g->sites[i];
		struct edge *e;
		uint32_t size;

		if (s->edge == NUMBERING_NO_CALLEE)
			continue;
		e = &w->edges[s->edge];
		size = frames_at(frames, s->after - 1);
		e->frame = e->seen && e->frame != size ? 0 : size;
		e->seen = true;
		if (s->target == CALLGRAPH_INSIDE)
			e->noted = !g->funcs[s->callee].has_sites;
	}
}

static int count_edges(struct work *w, struct error *why)
{
	for (uint64_t i = 1; i < w->tree->n_nodes; i++) {
		const struct count_node *node = &w->tree->nodes[i];
		const struct callgraph_site *s;

		if (node->way == COUNT_ENTRY)
			continue;
		s = site_of(w, node);
		if (!s)
			return error_set(why, -EINVAL, "does not belong to this program");
		if (s->edge != NUMBERING_NO_CALLEE)
			w->edges[s->edge].count += node->count;
	}
	return 0;
}

/* Lists the edges into each function.  Returns -ENOMEM or 0. */
static int list_edges(struct work *w)
{
	const struct numbering_graph *g = &w->p->graph.graph;

	w->first = calloc(g->n_funcs + 2, sizeof(*w->first));
	w->in = calloc(g->n_sites + 1, sizeof(*w->in));
	if (!w->first || !w->in)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_sites; i++)
		if (has_value(w, i))
			w->first[g->sites[i].callee + 2]++;
	for (uint32_t f = 0; f < g->n_funcs; f++)
		w->first[f + 2] += w->first[f + 1];
	for (uint32_t i = 0; i < g->n_sites; i++)
		if (has_value(w, i))
			w->in[w->first[g->sites[i].callee + 1]++] = i;
	return 0;
}

static bool before(const struct work *w, uint32_t a, uint32_t b)
{
	if (w->options->counted_order && w->edges[a].count != w->edges[b].count)
		return w->edges[a].count > w->edges[b].count;
	return w->n.value[a] < w->n.value[b];
}

static void sort_edges(struct work *w, uint32_t f)
{
	for (uint32_t i = w->first[f] + 1; i < w->first[f + 1]; i++)
		for (uint32_t k = i; k > w->first[f] && before(w, w->in[k], w->in[k - 1]); k--) {
			uint32_t other = w->in[k];

			w->in[k] = w->in[k - 1];
			w->in[k - 1] = other;
		}
}

/* ---- the three cases ------------------------------------------------------------- */

/* Merges the offsets of a caller, moved by its frame, into those of the callee.  False: they
 * conflict, or are too many; nothing changes then. */
static bool merge(struct offsets *into, const struct offsets *from, uint32_t frame, uint32_t most,
		  int *err)
{
	uint32_t a = 0, b = 0, n = 0, *all;

	if (into->n + from->n > most)
		return false;
	all = malloc((into->n + from->n + 1) * sizeof(*all));
	if (!all) {
		*err = -ENOMEM;
		return false;
	}
	while (a < into->n || b < from->n) {
		uint32_t x = a < into->n ? into->item[a] : UINT32_MAX;
		uint32_t y = b < from->n ? from->item[b] + frame : UINT32_MAX;

		if (x == y) {
			free(all);
			return false;
		}
		all[n++] = x < y ? x : y;
		a += x < y;
		b += y < x;
	}
	free(into->item);
	*into = (struct offsets){.item = all, .n = n};
	return true;
}

static int decide(struct work *w, uint32_t f)
{
	const struct numbering_site *sites = w->p->graph.graph.sites;
	struct offsets *mine = &w->implicit[f];
	uint64_t next = 0;
	int err = 0;

	sort_edges(w, f);
	mine->item = calloc(1, sizeof(*mine->item));
	if (!mine->item)
		return -ENOMEM;
	/* A segment that begins here has the offset 0 and the id 0. */
	mine->n = w->n.root[f] || w->n.entered[f] || w->first[f] == w->first[f + 1];
	w->contexts[f] = mine->n;
	for (uint32_t i = w->first[f]; i < w->first[f + 1]; i++) {
		struct edge *e = &w->edges[w->in[i]];
		uint32_t caller = sites[w->in[i]].caller;
		const struct offsets *theirs = &w->implicit[caller];

		if (theirs->n && merge(mine, theirs, e->frame, w->options->most_offsets, &err)) {
			/* The first edge that passes ids on need not change them. */
			bool explicit = theirs->n != w->contexts[caller];

			e->what = explicit && next ? CASE_GUARD : CASE_NONE;
			e->shift = next;
			if (explicit)
				next += w->width[caller];
		} else {
			/* An id of 0 is implicit, so this edge must not leave it 0. */
			e->shift = next || !theirs->n ? next : 1;
			e->what = e->shift ? CASE_ADD : CASE_NONE;
			next = e->shift + w->width[caller];
		}
		if (err)
			return err;
		w->contexts[f] += w->contexts[caller];
	}
	w->width[f] = next ? next : 1;
	return 0;
}

/* Visits callers before callees. */
static int decide_all(struct work *w)
{
	const struct numbering_graph *g = &w->p->graph.graph;
	uint32_t *missing = calloc(g->n_funcs + 1, sizeof(*missing));
	uint32_t *queue = calloc(g->n_funcs + 1, sizeof(*queue));
	uint32_t *out = calloc(g->n_sites + 1, sizeof(*out));
	uint32_t *next = calloc(g->n_funcs + 1, sizeof(*next));
	uint32_t n = 0;
	int err = missing && queue && out && next ? 0 : -ENOMEM;

	/* next[f] - 1 is the first edge out of f, and out[e] - 1 the one after e. */
	for (uint32_t i = 0; !err && i < g->n_sites; i++)
		if (has_value(w, i)) {
			out[i] = next[g->sites[i].caller];
			next[g->sites[i].caller] = i + 1;
		}
	for (uint32_t f = 0; !err && f < g->n_funcs; f++) {
		missing[f] = w->first[f + 1] - w->first[f];
		if (!missing[f])
			queue[n++] = f;
	}
	for (uint32_t i = 0; !err && i < n; i++) {
		err = decide(w, queue[i]);
		for (uint32_t e = next[queue[i]]; !err && e; e = out[e - 1])
			if (!--missing[g->sites[e - 1].callee])
				queue[n++] = g->sites[e - 1].callee;
	}
	free(missing);
	free(queue);
	free(out);
	free(next);
	return err;
}

static void count_graph(struct work *w)
{
	const struct numbering_graph *g = &w->p->graph.graph;

	w->out->functions = g->n_funcs;
	for (uint32_t f = 0; f < g->n_funcs; f++)
		w->out->implicit_functions += w->implicit[f].n == w->contexts[f];
	for (uint32_t i = 0; i < g->n_sites; i++) {
		const struct edge *e = &w->edges[i];

		if (!has_value(w, i) || e->noted)
			continue;
		w->out->edges++;
		w->out->edges_none += e->what == CASE_NONE;
		w->out->edges_guarded += e->what == CASE_GUARD;
		w->out->edges_conflict += e->what == CASE_ADD;
	}
}

/* ---- the run --------------------------------------------------------------------- */

struct state {
	uint64_t id, offset, path; /* path: a hash of the segment's edges */
	uint64_t segment;	   /* node where it began */
	uint32_t func;
};

struct slot {
	uint64_t key, path;
};

static uint64_t mix(uint64_t h, uint64_t x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 29;
}

/* Notes that a context has this id and offset.  Two contexts that share them collide. */
static void check(struct work *w, struct slot *slots, uint64_t mask, const struct state *s)
{
	uint64_t key = mix(mix(mix(mix(1, s->segment), s->func), s->id), s->offset) | 1;
	uint64_t i = key >> 7 & mask;

	while (slots[i].key && slots[i].key != key)
		i = (i + 1) & mask;
	if (slots[i].key)
		w->out->collisions += slots[i].path != s->path;
	slots[i] = (struct slot){.key = key, .path = s->path};
}

static void replay_value(struct work *w, const struct count_node *node, uint32_t edge,
			 struct state *s)
{
	const struct edge *e = &w->edges[edge];
	struct hybrid *o = w->out;
	bool adds = e->what == CASE_ADD || (e->what == CASE_GUARD && s->id);

	*(e->what == CASE_NONE	? &o->none
	  : e->what == CASE_ADD ? &o->conflicts
	  : adds		? &o->guarded
				: &o->passed) += node->count;
	s->id += adds ? e->shift : 0;
	s->offset += e->frame;
	s->path = mix(s->path, edge + 1);
	s->func = w->p->graph.graph.sites[edge].callee;
}

static void begin_segment(struct state *s, uint64_t node, uint32_t func)
{
	*s = (struct state){.segment = node, .func = func};
}

static void replay_push(struct work *w, const struct count_node *node,
			const struct callgraph_site *site)
{
	struct hybrid *o = w->out;

	if (site->target == CALLGRAPH_OUTSIDE)
		*(site->ext ? &o->noted_outside : &o->callbacks) += node->count;
	else if (site->target == CALLGRAPH_UNKNOWN)
		o->indirect += node->count;
	else
		o->other += node->count;
}

static int replay_node(struct work *w, uint64_t i, struct state *s, struct error *why)
{
	const struct count_node *node = &w->tree->nodes[i];
	const struct callgraph_site *site;

	if (node->way == COUNT_ENTRY) {
		uint64_t at = node->address - w->tree->base + w->p->module.base;
		uint32_t part = callgraph_part_at(&w->p->graph, at - 1);

		if (part == NUMBERING_NO_CALLEE)
			return error_set(why, -EINVAL, "does not belong to this program");
		begin_segment(s, i, w->p->graph.parts[part].func);
		return 0;
	}
	site = site_of(w, node);
	w->out->calls += node->count;
	if (site->edge == NUMBERING_NO_CALLEE || !has_value(w, site->edge)) {
		replay_push(w, node, site);
		if (node->way == COUNT_DIRECT)
			begin_segment(s, i, site->callee);
	} else if (w->edges[site->edge].noted) {
		w->out->noted_inside += node->count;
		s->func = site->callee;
		s->path = mix(s->path, site->edge + 1);
	} else {
		replay_value(w, node, site->edge, s);
	}
	return 0;
}

static int replay(struct work *w, struct error *why)
{
	uint64_t n = w->tree->n_nodes, mask = 1;
	struct state *states = calloc(n + 1, sizeof(*states));
	struct slot *slots;
	int err = 0;

	while (mask < 2 * n)
		mask *= 2;
	slots = calloc(mask, sizeof(*slots));
	if (!states || !slots)
		err = error_memory(why);
	for (uint64_t i = 1; !err && i < n; i++) {
		const struct count_node *node = &w->tree->nodes[i];

		if (node->parent >= i || node->way > COUNT_ENTRY) {
			err = error_set(why, -EINVAL, "is damaged");
			break;
		}
		states[i] = states[node->parent];
		err = replay_node(w, i, &states[i], why);
		/* The site identifies a call that is only noted, so its callee need not. */
		if (!err && node->way == COUNT_DIRECT &&
		    w->p->graph.funcs[states[i].func].has_sites)
			check(w, slots, mask - 1, &states[i]);
	}
	free(states);
	free(slots);
	return err;
}

/* ---- all steps ------------------------------------------------------------------- */

/* Counts what calls execute without hybrid encoding. */
static int count_basic(struct work *w)
{
	const struct numbering_graph *g = &w->p->graph.graph;
	uint64_t *most = calloc(g->n_funcs + 1, sizeof(*most));

	if (!most)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->n_sites; i++) {
		const struct edge *e = &w->edges[i];
		uint32_t f = g->sites[i].callee;

		if (!has_value(w, i) || e->noted)
			continue;
		*(w->n.value[i] ? &w->out->added : &w->out->zero) += e->count;
		w->out->added_at_least += e->count < most[f] ? e->count : most[f];
		most[f] = e->count < most[f] ? most[f] : e->count;
	}
	free(most);
	return 0;
}

/* Makes calls from frames that are not fixed pushes.  Calls that are only noted may stay. */
static void push_from_moving_frames(struct work *w)
{
	struct numbering_site *sites = w->p->graph.graph_sites;

	for (uint32_t i = 0; i < w->p->graph.graph.n_sites; i++) {
		const struct edge *e = &w->edges[i];

		if (!has_value(w, i) || e->frame || e->noted)
			continue;
		sites[i].flags |= NUMBERING_PUSH;
		w->out->edges_moving++;
		w->out->moving += e->count;
	}
}

static int run_steps(struct work *w, const struct frames *frames, struct error *why)
{
	static const struct numbering_options as_ours = {.limit = PCCE_ID_LIMIT};
	const struct numbering_graph *g = &w->p->graph.graph;
	int err;

	w->edges = calloc(g->n_sites + 1, sizeof(*w->edges));
	w->implicit = calloc(g->n_funcs + 1, sizeof(*w->implicit));
	w->contexts = calloc(g->n_funcs + 1, sizeof(*w->contexts));
	w->width = calloc(g->n_funcs + 1, sizeof(*w->width));
	if (!w->edges || !w->implicit || !w->contexts || !w->width)
		return error_memory(why);
	read_edges(w, frames);
	err = count_edges(w, why);
	if (err)
		return err;
	if (numbering_compute(g, &as_ours, &w->n) || count_basic(w))
		return error_memory(why);
	push_from_moving_frames(w);
	numbering_free(&w->n);
	memset(&w->n, 0, sizeof(w->n));
	if (numbering_compute(g, &as_ours, &w->n) || list_edges(w) || decide_all(w))
		return error_memory(why);
	count_graph(w);
	return replay(w, why);
}

int hybrid_run(struct program *p, const struct frames *frames, const struct count_file *tree,
	       const struct hybrid_options *options, struct hybrid *out, struct error *why)
{
	struct work w = {.p = p, .tree = tree, .options = options, .out = out};
	int err;

	memset(out, 0, sizeof(*out));
	err = run_steps(&w, frames, why);
	for (uint32_t f = 0; w.implicit && f < p->graph.n_funcs; f++)
		free(w.implicit[f].item);
	free(w.edges);
	free(w.implicit);
	free(w.contexts);
	free(w.width);
	free(w.first);
	free(w.in);
	numbering_free(&w.n);
	return err;
}
