/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds types to the call graph, so that calls through pointers need no push.
 *
 * A call through a pointer mostly leads to a function of its own type, whatever the program does.
 * So a type becomes a node of the graph. Such a call gets a guard, as with a recording
 * (callgraph_guards.c), but its callee is the type. The type calls its members with the value 0:
 * the functions of this type that pointers can lead to. So one value is right for all members.
 *
 * At each call, the guard checks that the pointer leads to a member. The entry slot of a member
 * begins with a code of its type, an instruction without effect (docs/slots.md). If the code is
 * another one, the call is a push, as without a guard. So a type that is wrong costs time only.
 *
 * Only executables have types. Their entry slots differ from those of shared libraries, so that no
 * function of another module has a code of this one.
 */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "encode/callgraph.h"

#define NONE NUMBERING_NO_CALLEE
#define CODE_AT_MAX 64 /* bytes from a function's start to its entry slot */

/* A site or function with its type. */
struct typed {
	uint32_t type, item;
};

COMPARE_BY2(compare_typed, struct typed, type, item);

static bool can_be_member(const struct callgraph_func *f)
{
	return f->type && f->root && f->entry_len == PCCE_SLOT_ENTRY && !f->fixed_entry &&
	       !f->stray && f->entry <= CODE_AT_MAX;
}

static bool can_be_typed(const struct callgraph_site *s)
{
	return s->type && s->before_len == PCCE_SLOT_TYPED && !s->guard &&
	       s->target == CALLGRAPH_UNKNOWN && s->edge != NONE;
}

/* Extends an array of one element a function. */
static int extend(void **array, uint32_t n, uint32_t more, size_t size)
{
	void *larger = realloc(*array, ((size_t)n + more + 1) * size);

	if (!larger)
		return -1;
	memset((char *)larger + n * size, 0, more * size);
	*array = larger;
	return 0;
}

/* Makes the types nodes of the numbering's graph. */
static int add_nodes_of_types(struct callgraph *cg, uint32_t n_types)
{
	if (extend((void **)&cg->graph_roots, cg->n_funcs, n_types, 1) ||
	    extend((void **)&cg->graph_can_enter, cg->n_funcs, n_types, 1) ||
	    extend((void **)&cg->graph_noted, cg->n_funcs, n_types, 1) ||
	    extend((void **)&cg->graph_entry_count, cg->n_funcs, n_types,
		   sizeof(*cg->graph_entry_count)))
		return -1;
	cg->graph.root = cg->graph_roots;
	cg->graph.can_enter = cg->graph_can_enter;
	cg->graph.noted = cg->graph_noted;
	cg->graph.entry_count = cg->graph_entry_count;
	cg->graph.n_funcs = cg->n_funcs + n_types;
	cg->n_types = n_types;
	return 0;
}

static void add_edge_of(struct callgraph *cg, struct callgraph_site *s, uint32_t caller,
			uint32_t callee, uint32_t flags, uint32_t freq)
{
	s->edge = cg->graph.n_sites++;
	cg->graph_sites[s->edge] = (struct numbering_site){caller, callee, flags, freq};
}

/* The call of the type, in the slots of the call through a pointer. */
static void add_typed_call(struct callgraph *cg, uint32_t site, uint32_t type, uint32_t code_at)
{
	struct callgraph_site *s = &cg->sites[site], *g = &cg->sites[cg->n_sites];

	*g = *s;
	g->flags |= PCCE_SITE_GUARD;
	g->target = CALLGRAPH_TYPE;
	g->callee = cg->n_funcs + type;
	g->code_at = code_at;
	g->copy = 0;
	g->guarded = site + 1;
	s->guard = ++cg->n_sites;
	/* If it closes a cycle, it is given up, which costs little. */
	add_edge_of(cg, g, s->func, g->callee, NUMBERING_TYPED, s->freq);
}

static void add_member(struct callgraph *cg, uint32_t func, uint32_t type, uint32_t freq)
{
	struct callgraph_func *f = &cg->funcs[func];
	struct callgraph_site *s = &cg->sites[cg->n_sites++];

	*s = (struct callgraph_site){
		.before = f->addr + f->entry,
		.after = f->addr + f->entry,
		.func = cg->n_funcs + type,
		.part = NONE,
		.target = CALLGRAPH_MEMBER,
		.callee = func,
	};
	add_edge_of(cg, s, s->func, func, NUMBERING_MEMBER, freq);
}

/* Pairs the two lists by type, and adds each type that is in both. */
static void add_types(struct callgraph *cg, const struct elf_module *m, callgraph_typed_fits *fits,
		      const struct typed *calls, uint32_t n_calls, const struct typed *members,
		      uint32_t n_members)
{
	uint32_t type = 0;

	for (uint32_t i = 0, k = 0, end; i < n_calls; i = end) {
		uint32_t first, offset;

		for (end = i; end < n_calls && calls[end].type == calls[i].type; end++)
			;
		while (k < n_members && members[k].type < calls[i].type)
			k++;
		for (first = k; k < n_members && members[k].type == calls[i].type; k++)
			;
		if (k == first)
			continue;
		/* All members have the code at one place. */
		offset = cg->funcs[members[first].item].entry;
		for (uint32_t c = i; c < end; c++)
			if (fits(m, &cg->sites[calls[c].item], offset))
				add_typed_call(cg, calls[c].item, type, offset);
		for (uint32_t c = first; c < k; c++)
			if (cg->funcs[members[c].item].entry == offset)
				add_member(cg, members[c].item, type, 1024 / (k - first) + 1);
		type++;
	}
}

static uint32_t count_shared(const struct typed *calls, uint32_t n_calls,
			     const struct typed *members, uint32_t n_members)
{
	uint32_t n = 0;

	for (uint32_t i = 0, k = 0; i < n_calls; i++) {
		if (i && calls[i].type == calls[i - 1].type)
			continue;
		while (k < n_members && members[k].type < calls[i].type)
			k++;
		n += k < n_members && members[k].type == calls[i].type;
	}
	return n;
}

int callgraph_add_types(struct callgraph *cg, const struct elf_module *m,
			callgraph_typed_fits *fits, struct error *why)
{
	struct typed *calls = malloc(((size_t)cg->n_sites + 1) * sizeof(*calls));
	struct typed *members = malloc(((size_t)cg->n_funcs + 1) * sizeof(*members));
	uint32_t n_calls = 0, n_members = 0, n_types;
	int err = calls && members ? 0 : error_memory(why);

	for (uint32_t i = 0; !err && i < cg->n_sites; i++)
		if (can_be_typed(&cg->sites[i]))
			calls[n_calls++] = (struct typed){cg->sites[i].type, i};
	for (uint32_t f = 0; !err && f < cg->n_funcs; f++)
		if (can_be_member(&cg->funcs[f]))
			members[n_members++] = (struct typed){cg->funcs[f].type, f};
	if (!err && n_calls && n_members) {
		qsort(calls, n_calls, sizeof(*calls), compare_typed);
		qsort(members, n_members, sizeof(*members), compare_typed);
		n_types = count_shared(calls, n_calls, members, n_members);
		if (callgraph_make_room(cg, (size_t)n_calls + n_members) ||
		    add_nodes_of_types(cg, n_types))
			err = error_memory(why);
		else
			add_types(cg, m, fits, calls, n_calls, members, n_members);
	}
	free(calls);
	free(members);
	return err;
}

bool callgraph_remove_unused_types(struct callgraph *cg, const struct numbering *n)
{
	uint32_t first = cg->n_sites, edges = cg->graph.n_sites;

	if (!cg->n_types)
		return false;
	for (uint32_t i = cg->n_sites; i-- > 0;) {
		const struct callgraph_site *s = &cg->sites[i];

		if (s->target != CALLGRAPH_TYPE && s->target != CALLGRAPH_MEMBER)
			break;
		if (s->target == CALLGRAPH_TYPE && n->kind[s->edge] == NUMBERED_VALUE)
			return false;
		first = i;
		edges = s->edge < edges ? s->edge : edges;
	}
	for (uint32_t i = first; i < cg->n_sites; i++)
		if (cg->sites[i].target == CALLGRAPH_TYPE)
			cg->sites[cg->sites[i].guarded - 1].guard = 0;
	cg->n_sites = first;
	cg->graph.n_sites = edges;
	cg->graph.n_funcs = cg->n_funcs;
	cg->n_types = 0;
	return true;
}

/* A type, and how many calls and members it has. */
struct use {
	uint32_t type, calls, members;
};

static int compare_calls(const void *pa, const void *pb)
{
	const struct use *a = pa, *b = pb;

	if (a->calls != b->calls)
		return a->calls > b->calls ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

int callgraph_choose_types(struct callgraph *cg, const struct numbering *n, struct error *why)
{
	struct use *uses = calloc((size_t)cg->n_types + 1, sizeof(*uses));
	uint32_t *code = calloc((size_t)cg->n_types + 1, sizeof(*code)), next = 1;

	if (!uses || !code) {
		free(uses);
		free(code);
		return error_memory(why);
	}
	for (uint32_t i = 0; i < cg->n_types; i++)
		uses[i].type = i;
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *s = &cg->sites[i];

		if (s->target == CALLGRAPH_TYPE && n->kind[s->edge] == NUMBERED_VALUE)
			uses[s->callee - cg->n_funcs].calls++;
		else if (s->target == CALLGRAPH_MEMBER && n->kind[s->edge] == NUMBERED_VALUE)
			uses[s->func - cg->n_funcs].members++;
	}
	qsort(uses, cg->n_types, sizeof(*uses), compare_calls);
	for (uint32_t i = 0; i < cg->n_types && next <= CALLGRAPH_TYPE_CODES; i++)
		if (uses[i].calls && uses[i].members)
			code[uses[i].type] = next++;
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		struct callgraph_site *s = &cg->sites[i];

		if (s->target != CALLGRAPH_TYPE && s->target != CALLGRAPH_MEMBER)
			continue;
		s->code = n->kind[s->edge] != NUMBERED_VALUE ? 0
			  : s->target == CALLGRAPH_TYPE	     ? code[s->callee - cg->n_funcs]
							     : code[s->func - cg->n_funcs];
		if (s->target == CALLGRAPH_MEMBER)
			cg->funcs[s->callee].code = s->code;
	}
	free(uses);
	free(code);
	return 0;
}
