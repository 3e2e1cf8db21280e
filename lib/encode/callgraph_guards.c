/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds guards to the call graph: direct calls of the functions that calls through pointers mostly
 * lead to, by a recording ("function pointers" in Sumner et al., TSE 2012).
 *
 * The before-slot of a guarded call compares the pointer with the function. If they are equal, it
 * calls the function itself, with an addition or ext; else it pushes, and the call follows as
 * always. So a recording that is wrong or old costs time only. A guard is a site like any other,
 * with a record of its own in the encoding table.
 *
 * A site gets a guard if its slots have room for one (patch_guard()), and if the recording has one
 * function in at least half of the samples below the call.
 */
#include <stdlib.h>
#include "elf/x86.h"
#include "encode/callgraph.h"

#define NONE NUMBERING_NO_CALLEE

/* Can the site have a guard at all? */
static bool can_have_guard(const struct elf_module *m, const struct callgraph_site *s)
{
	uint64_t at = s->before + s->before_len;
	const uint8_t *code = elf_module_at(m, at, s->after - at);
	const bool pic = s->flags & PCCE_SITE_PIC;
	struct x86_operand operand;

	return s->target == CALLGRAPH_UNKNOWN &&
	       (s->before_len == (pic ? PCCE_SLOT_INDIRECT_PIC : PCCE_SLOT_PUSH) ||
		s->before_len == PCCE_SLOT_TYPED) &&
	       s->after_len == (pic ? PCCE_SLOT_POP_PIC : PCCE_SLOT_POP) &&
	       !(s->flags & (PCCE_SITE_TAIL | PCCE_SITE_NORETURN | PCCE_SITE_RETURNS_TWICE |
			     PCCE_SITE_SPILL_REGS)) &&
	       code && x86_decode_indirect(code, s->after - at, at, false, &operand);
}

/* Finds the function that the site calls most often, if it is one of ours and often enough. The
 * targets are those with a key in the site: [at, end). */
static uint32_t find_pointed(const struct callgraph *cg, const struct elf_module *m,
			     struct call_target *at, struct call_target *end, uint64_t *on_top)
{
	uint64_t all = 0, most = 0, callee = 0;

	for (struct call_target *t = at; t < end; t++) {
		uint64_t samples = 0, top = 0;

		/* The guard and the call that it guards have different keys. */
		for (struct call_target *same = at; same < end; same++) {
			if (same->callee == t->callee) {
				samples += same->samples;
				top += same->on_top;
			}
		}
		all += t->samples;
		if (samples > most) {
			most = samples;
			callee = t->callee;
			*on_top = top;
		}
	}
	if (!most || 2 * most < all)
		return NONE;
	uint32_t f = callgraph_entered_at(cg, m, callee);

	return f != NONE && cg->funcs[f].addr == callee && !cg->funcs[f].fixed_entry ? f : NONE;
}

static void add_guard(struct callgraph *cg, uint32_t site, uint32_t callee)
{
	struct callgraph_site *s = &cg->sites[site], *g = &cg->sites[cg->n_sites];

	*g = *s;
	g->flags = (s->flags & ~PCCE_SITE_INDIRECT) | PCCE_SITE_GUARD;
	g->target = CALLGRAPH_INSIDE;
	g->callee = callee;
	g->copy = 0;
	g->edge = NONE;
	g->guarded = site + 1;
	s->guard = ++cg->n_sites;
	g->ext = callgraph_calls_bare(cg, g) && !((s->before + s->before_len) >> 32);
	if (g->ext) {
		cg->graph_noted[callee] = 1;
		return;
	}
	callgraph_add_edge(cg, g);
	/* If it closes a cycle, it is given up, which costs little. */
	cg->graph_sites[g->edge].flags |= NUMBERING_ROOM;
}

int callgraph_add_guards(struct callgraph *cg, const struct elf_module *m,
			 const struct call_counts *counts, struct error *why)
{
	uint32_t n = cg->n_sites;
	struct call_target *at = counts->targets, *end = at ? at + counts->n_targets : NULL;

	if (callgraph_make_room(cg, n))
		return error_memory(why);
	/* Both lists are in order. A key is in its site's before-slot or at its end. */
	for (uint32_t i = 0; i < n; i++) {
		const struct callgraph_site *s = &cg->sites[i];
		struct call_target *first;
		uint64_t on_top = 0;
		uint32_t callee;

		if (s->target == CALLGRAPH_NONE)
			continue;
		while (at < end && at->key < s->before)
			at++;
		for (first = at; at < end && at->key < s->after; at++)
			;
		if (first == at || !can_have_guard(m, s))
			continue;
		callee = find_pointed(cg, m, first, at, &on_top);
		if (callee == NONE)
			continue;
		cg->guard_samples[cg->n_sites] = on_top;
		add_guard(cg, i, callee);
	}
	return 0;
}

static bool is_last_site(const struct callgraph_site *s)
{
	return s->guarded || s->target == CALLGRAPH_MEMBER;
}

/* The guard of a tail call is directly before the call that names it. */
static void keep_tail_guard(struct callgraph *cg, uint32_t from, uint32_t to)
{
	struct callgraph_site *g = &cg->sites[to];

	*g = cg->sites[from];
	if (g->flags & PCCE_SITE_TAIL)
		return;
	g->guard = g->guard ? to : 0;
	cg->sites[g->guarded - 1].guard = to + 1;
}

void callgraph_drop_guards(struct callgraph *cg, const struct numbering *n)
{
	uint32_t kept = 0;

	while (kept < cg->n_sites && !is_last_site(&cg->sites[kept]))
		kept++;
	for (uint32_t i = kept; i < cg->n_sites; i++) {
		struct callgraph_site *g = &cg->sites[i], *s;

		if (g->target == CALLGRAPH_MEMBER) {
			if (g->code)
				cg->sites[kept++] = *g;
			continue;
		}
		s = &cg->sites[g->guarded - 1];
		if (s->flags & PCCE_SITE_TAIL) {
			if (s->guard)
				keep_tail_guard(cg, i, kept++);
			continue;
		}
		if (g->target == CALLGRAPH_TYPE ? !g->code
						: !g->ext && n->kind[g->edge] != NUMBERED_VALUE) {
			s->guard = 0;
			continue;
		}
		cg->sites[kept] = *g;
		s->guard = ++kept;
	}
	cg->n_sites = kept;
}
