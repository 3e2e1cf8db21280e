/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Computes the state that the thread page would have at each node of a counted run's tree.
 *
 * A parent precedes its children, so one pass over the array of nodes is enough.  The state of the
 * encoding stack is a linked list of entries, whose tails nodes share.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "bench/papers/replay.h"

#define NO_ENTRY 0u

struct entry {
	uint64_t id, site;
	uint32_t below;
};

struct state {
	uint64_t id;
	uint32_t entry, calls, entries, pushes;
};

struct run {
	const struct program *p;
	const struct numbering *n;
	bool notes; /* calls of functions that call nothing only note the site */
	const struct count_file *tree;
	struct state *states; /* of each node */
	struct entry *entries;
	uint32_t n_entries;
	struct replay *out;
};

static int count_depth(struct depths *d, uint32_t depth, uint64_t n)
{
	if (depth >= d->size) {
		uint32_t size = depth < 512 ? 1024 : depth * 2;
		uint64_t *bigger = realloc(d->n, size * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		memset(bigger + d->size, 0, (size - d->size) * sizeof(*bigger));
		d->n = bigger;
		d->size = size;
	}
	d->n[depth] += n;
	return 0;
}

/* There is room, because each node adds at most one entry.  Entry 0 is the bottom. */
static void push_entry(struct run *r, struct state *s, uint64_t site)
{
	const struct entry *top = &r->entries[s->entry];

	s->pushes++;
	if (s->entry != NO_ENTRY && top->id == s->id && top->site == site)
		return;
	r->entries[r->n_entries] = (struct entry){.id = s->id, .site = site, .below = s->entry};
	s->entry = r->n_entries++;
	s->entries++;
}

static uint64_t begin_id(const struct run *r, uint32_t func)
{
	return r->n->entered[func] ? r->n->start[func] : 0;
}

static int replay_call(struct run *r, const struct count_node *node, struct state *s,
		       struct error *why)
{
	const struct callgraph_site *site =
		program_site(r->p, node->address - r->tree->base + r->p->module.base);
	bool value;

	if (!site)
		return error_set(why, -EINVAL, "does not belong to this program: no site at %#llx",
				 (unsigned long long)(node->address - r->tree->base));
	value = site->edge != NUMBERING_NO_CALLEE && r->n->kind[site->edge] == NUMBERED_VALUE;
	if (value) {
		bool adds = r->n->value[site->edge] &&
			    !(r->notes && !r->p->graph.funcs[site->callee].has_sites);

		s->id += r->n->value[site->edge];
		*(adds ? &r->out->adds : &r->out->nothing) += node->count;
	} else {
		push_entry(r, s, site->before);
		*(site->ext ? &r->out->nothing : &r->out->pushed) += node->count;
		if (node->way == COUNT_DIRECT)
			s->id = begin_id(r, site->callee);
	}
	s->calls += node->way == COUNT_DIRECT;
	return 0;
}

static int replay_entry(struct run *r, const struct count_node *node, struct state *s,
			struct error *why)
{
	uint64_t address = node->address - r->tree->base + r->p->module.base;
	uint32_t part = callgraph_part_at(&r->p->graph, address - 1);

	if (part == NUMBERING_NO_CALLEE)
		return error_set(why, -EINVAL,
				 "does not belong to this program: no function at %#llx",
				 (unsigned long long)address);
	/* A parent that is a call has pushed already.  Otherwise code without slots led here, for
	 * example a signal. */
	if (node->parent && r->tree->nodes[node->parent].way != COUNT_CALL)
		push_entry(r, s, 0);
	s->id = begin_id(r, r->p->graph.parts[part].func);
	s->calls++;
	return 0;
}

static int replay_tree(struct run *r, struct error *why)
{
	for (uint64_t i = 1; i < r->tree->n_nodes; i++) {
		const struct count_node *node = &r->tree->nodes[i];
		struct state *s = &r->states[i];
		int err;

		if (node->parent >= i || node->way > COUNT_ENTRY)
			return error_set(why, -EINVAL,
					 "is damaged: node %llu has no place in a tree",
					 (unsigned long long)i);
		*s = r->states[node->parent];
		err = node->way == COUNT_ENTRY ? replay_entry(r, node, s, why)
					       : replay_call(r, node, s, why);
		if (err)
			return err;
		if (node->way == COUNT_CALL)
			continue;
		r->out->contexts++;
		r->out->instances += node->count;
		if (count_depth(&r->out->calls, s->calls, node->count) ||
		    count_depth(&r->out->entries, s->entries, node->count) ||
		    count_depth(&r->out->pushes, s->pushes, node->count))
			return error_memory(why);
	}
	return 0;
}

int replay_run(const struct program *p, const struct numbering *n, bool notes,
	       const struct count_file *tree, struct replay *out, struct error *why)
{
	struct run r = {.p = p, .n = n, .notes = notes, .tree = tree, .out = out, .n_entries = 1};
	int err;

	memset(out, 0, sizeof(*out));
	r.states = calloc(tree->n_nodes + 1, sizeof(*r.states));
	r.entries = calloc(tree->n_nodes + 1, sizeof(*r.entries));
	err = r.states && r.entries ? replay_tree(&r, why) : error_memory(why);
	free(r.states);
	free(r.entries);
	return err;
}

void replay_free(struct replay *r)
{
	free(r->calls.n);
	free(r->entries.n);
	free(r->pushes.n);
}

uint32_t depths_quantile(const struct depths *d, double share)
{
	uint64_t all = 0, so_far = 0;
	uint32_t last = 0;

	for (uint32_t i = 0; i < d->size; i++) {
		all += d->n[i];
		if (d->n[i])
			last = i;
	}
	for (uint32_t i = 0; i < last; i++) {
		so_far += d->n[i];
		if (share < 1 && (double)so_far >= share * (double)all)
			return i;
	}
	return last;
}
