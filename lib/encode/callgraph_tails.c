/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds guards for tail calls through pointers by a recording, and by initial values.
 *
 * A function that tail-calls through a pointer could hand its id to any code, so all calls of it
 * are pushes. With a guard it jumps only to the function that is mostly called there: a tail call
 * of that function. For all others it makes an ordinary call, which is a push. So its callers need
 * no push for its sake.
 *
 * All or none: a function must have slots at each of its tail calls that leave the graph. Those
 * without a guard always make the call. A function gets guards if they would have held in most of
 * its samples, since a call in place of a jump costs as much as a guard saves. Without samples, all
 * its pointers must be global ones with an initial value, which most programs never change.
 */
#include <stdlib.h>
#include <string.h>
#include "elf/x86.h"
#include "encode/callgraph.h"

#define NONE NUMBERING_NO_CALLEE
#define LEAST_PERCENT 80 /* of the samples below a function's tail calls */

/* What the recording says of one function. */
struct tail_caller {
	uint32_t n_slots; /* its tail calls with slots */
	bool leaves;	  /* it has another tail call that leaves the graph */
	bool seen;	  /* samples is its own number */
	uint64_t samples; /* below its tail calls through pointers */
	uint64_t held;	  /* of them, those where a guard would have held */
};

struct tails {
	struct callgraph *cg;
	const struct elf_module *m;
	const struct elf_relocs *l;
	const struct call_counts *counts;
	struct numbering_adjacency direct; /* the tail calls inside the graph */
	struct call_target *left;	   /* as counts->tails, of all calls */
	size_t n_left;
	struct tail_caller *of; /* of each function */
	uint32_t *callee;	/* of each site: the function to expect, or NONE */
	uint8_t *has_slot;	/* of each site: its tail call leaves the graph, and has a slot */
};

static bool tail_calls_directly(const struct tails *t, uint32_t from, uint32_t to)
{
	for (uint32_t i = t->direct.first[from]; i < t->direct.first[from + 1]; i++)
		if (t->direct.item[i] == to)
			return true;
	return false;
}

static bool leaves_graph(const struct callgraph *cg, const struct callgraph_site *s)
{
	return s->flags & PCCE_SITE_TAIL && s->edge != NONE &&
	       cg->graph_sites[s->edge].callee == NONE;
}

/*
 * Collects what the recording has of tail calls. A call that leads through a gate names no function
 * in a recording. So where its functions were called, the function behind the gate has left for
 * them.
 */
static int collect_left(struct tails *t)
{
	const struct callgraph *cg = t->cg;
	const struct call_counts *c = t->counts;

	t->left = malloc((c->n_tails + c->n_targets + 1) * sizeof(*t->left));
	if (!t->left)
		return -1;
	if (c->n_tails)
		memcpy(t->left, c->tails, c->n_tails * sizeof(*t->left));
	t->n_left = c->n_tails;
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *s = &cg->sites[i];
		uint32_t func;

		if (!s->gated || s->flags & PCCE_SITE_TAIL ||
		    t->direct.first[s->callee] == t->direct.first[s->callee + 1])
			continue;
		func = t->direct.item[t->direct.first[s->callee]];
		for (const struct call_target *k =
			     call_target_find(c->targets, c->n_targets, s->before);
		     k < c->targets + c->n_targets && k->key < s->after; k++) {
			if (k->callee == cg->funcs[func].addr)
				continue;
			t->left[t->n_left] = *k;
			t->left[t->n_left++].key = cg->funcs[func].addr;
		}
	}
	qsort(t->left, t->n_left, sizeof(*t->left), call_target_compare);
	return 0;
}

/* Finds the functions with such tail calls. */
static void find_sites_with_slots(const struct tails *t, callgraph_tail_fits *fits)
{
	for (uint32_t i = 0; i < t->cg->n_sites; i++) {
		const struct callgraph_site *s = &t->cg->sites[i];

		t->callee[i] = NONE;
		if (!leaves_graph(t->cg, s))
			continue;
		t->has_slot[i] = s->target == CALLGRAPH_UNKNOWN && fits(t->m, s);
		t->of[s->func].n_slots += t->has_slot[i];
		t->of[s->func].leaves |= !t->has_slot[i];
	}
}

/* The function at a target, if a guard of s can lead there; else NONE. */
static uint32_t target_of(const struct tails *t, const struct callgraph_site *s, uint64_t addr)
{
	uint32_t f = callgraph_entered_at(t->cg, t->m, addr);
	const struct callgraph_func *func = f == NONE ? NULL : &t->cg->funcs[f];

	if (!func || func->addr != addr || func->fixed_entry || f == s->func)
		return NONE;
	return t->of[s->func].n_slots == 1 || (s->type && func->type == s->type) ? f : NONE;
}

/* The samples of a target in the two lists: of tail calls, and of calls in their place. */
static uint64_t samples_of(const struct call_target *a, const struct call_target *a_end,
			   const struct call_target *b, const struct call_target *b_end,
			   uint64_t callee)
{
	uint64_t n = 0;

	for (; a < a_end; a++)
		n += a->callee == callee ? a->samples : 0;
	for (; b < b_end; b++)
		n += b->callee == callee ? b->samples : 0;
	return n;
}

/* Chooses the function to expect at a site, and adds up the samples of the site's function. */
static void choose_target(const struct tails *t, uint32_t site, bool first_of_func)
{
	const struct callgraph_site *s = &t->cg->sites[site];
	const struct call_counts *c = t->counts;
	const uint64_t func = t->cg->funcs[s->func].addr;
	const struct call_target *tail = call_target_find(t->left, t->n_left, func),
				 *tail_end = call_target_find(t->left, t->n_left, func + 1),
				 *call = call_target_find(c->targets, c->n_targets, s->after),
				 *call_end = call_target_find(c->targets, c->n_targets,
							      s->after + s->after_len);
	struct tail_caller *of = &t->of[s->func];
	uint64_t most = 0;

	for (const struct call_target *k = tail; k < tail_end; k++) {
		uint32_t f = callgraph_entered_at(t->cg, t->m, k->callee);

		if (f != NONE && tail_calls_directly(t, s->func, f))
			continue;
		of->samples += first_of_func ? k->samples : 0;
	}
	for (const struct call_target *k = call; k < call_end; k++)
		of->samples += k->samples;
	for (int list = 0; list < 2; list++) {
		const struct call_target *end = list ? call_end : tail_end;

		for (const struct call_target *k = list ? call : tail; k < end; k++) {
			uint64_t n = samples_of(tail, tail_end, call, call_end, k->callee);
			uint32_t f = target_of(t, s, k->callee);

			if (n <= most || f == NONE || tail_calls_directly(t, s->func, f))
				continue;
			most = n;
			t->callee[site] = f;
		}
	}
	of->held += most;
}

/* The guard is a direct tail call, and has the site's edge. */
static uint32_t add_guard_jump(struct callgraph *cg, uint32_t site, uint32_t callee)
{
	const struct callgraph_site *s = &cg->sites[site];
	struct callgraph_site *g = &cg->sites[cg->n_sites];

	*g = *s;
	g->flags = (s->flags & ~PCCE_SITE_INDIRECT) | PCCE_SITE_GUARD;
	g->target = CALLGRAPH_INSIDE;
	g->callee = callee;
	g->guarded = site + 1;
	cg->graph_sites[s->edge].callee = callee;
	return ++cg->n_sites;
}

/* Adds a guard, if there is a function to expect, and the call of all others. The site itself jumps
 * only where such a call returns to the function's caller, so it has the edge of the call. */
static void add_tail_guard(struct callgraph *cg, uint32_t site, uint32_t callee)
{
	struct callgraph_site *s = &cg->sites[site], *call;
	uint32_t guard = callee == NONE ? 0 : add_guard_jump(cg, site, callee);

	call = &cg->sites[cg->n_sites];
	*call = *s;
	call->flags &= ~PCCE_SITE_TAIL;
	call->guarded = site + 1;
	call->guard = guard;
	if (guard)
		callgraph_add_edge(cg, call);
	else
		cg->graph_sites[s->edge].flags = NUMBERING_PUSH;
	s->edge = call->edge;
	s->guard = ++cg->n_sites;
}

static void add_tail_guards(const struct tails *t, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct callgraph_site *s = &t->cg->sites[i];
		const struct tail_caller *of = &t->of[s->func];

		if (t->has_slot[i] && !of->leaves && of->held &&
		    100 * of->held >= LEAST_PERCENT * of->samples)
			add_tail_guard(t->cg, i, t->callee[i]);
	}
}

static void choose_targets(const struct tails *t)
{
	for (uint32_t i = 0; i < t->cg->n_sites; i++) {
		const struct callgraph_site *s = &t->cg->sites[i];
		struct tail_caller *of = &t->of[s->func];

		if (!t->has_slot[i] || of->leaves)
			continue;
		choose_target(t, i, !of->seen);
		of->seen = true;
	}
}

/* The function that a global pointer holds when the program starts, or NONE. */
static uint32_t initial_target(const struct tails *t, const struct callgraph_site *s)
{
	const uint64_t n = s->after - s->before;
	const uint8_t *code = elf_module_at(t->m, s->before, n);
	struct x86_operand operand;
	struct elf_got_slot pointer;
	uint32_t f;

	if (!code || !x86_decode_indirect(code, n, s->before, true, &operand) ||
	    !operand.relative || !elf_relocs_slot(t->l, t->m, operand.target, &pointer))
		return NONE;
	if (pointer.name)
		pointer.target = pointer.own;
	f = callgraph_entered_at(t->cg, t->m, pointer.target);
	return f != NONE && t->cg->funcs[f].addr == pointer.target &&
			       !t->cg->funcs[f].fixed_entry && f != s->func
		       ? f
		       : NONE;
}

/* Without samples, all or none of a function's tail calls have a guard by an initial value. */
static void choose_initial_targets(const struct tails *t)
{
	for (uint32_t i = 0; i < t->cg->n_sites; i++) {
		const struct callgraph_site *s = &t->cg->sites[i];
		struct tail_caller *of = &t->of[s->func];

		if (!t->has_slot[i] || of->leaves || of->samples)
			continue;
		t->callee[i] = initial_target(t, s);
		of->held += t->callee[i] != NONE;
	}
	for (uint32_t f = 0; f < t->cg->n_funcs; f++) {
		struct tail_caller *of = &t->of[f];

		if (of->samples)
			continue;
		of->samples = of->n_slots;
		of->held = of->held == of->n_slots ? of->held : 0;
	}
}

int callgraph_add_tail_guards(struct callgraph *cg, const struct elf_module *m,
			      const struct elf_relocs *l, const struct call_counts *counts,
			      callgraph_tail_fits *fits, struct error *why)
{
	struct tails t = {.cg = cg, .m = m, .l = l, .counts = counts};
	uint32_t n = cg->n_sites;
	int err = -1;

	t.of = calloc((size_t)cg->n_funcs + 1, sizeof(*t.of));
	t.callee = malloc(((size_t)n + 1) * sizeof(*t.callee));
	t.has_slot = calloc((size_t)n + 1, 1);
	if (t.of && t.callee && t.has_slot && !callgraph_make_room(cg, 2 * (size_t)n))
		err = numbering_adjacency_build(&t.direct, cg->n_funcs, cg->graph.n_sites,
						numbering_edge_tail, &cg->graph);
	if (!err)
		err = collect_left(&t);
	if (!err) {
		find_sites_with_slots(&t, fits);
		choose_targets(&t);
		choose_initial_targets(&t);
		add_tail_guards(&t, n);
	}
	numbering_adjacency_free(&t.direct);
	free(t.left);
	free(t.of);
	free(t.callee);
	free(t.has_slot);
	return err ? error_memory(why) : 0;
}

void callgraph_give_up_tail_guards(struct callgraph *cg, const struct numbering *n)
{
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		struct callgraph_site *s = &cg->sites[i];

		if (!(s->flags & PCCE_SITE_TAIL) || !s->guard || !n->tail_out[s->func])
			continue;
		s->guard = 0;
	}
}
