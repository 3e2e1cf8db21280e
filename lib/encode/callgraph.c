/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Looks up addresses in a call graph, and adds samples to it. callgraph_build.c builds the graph.
 */
#include <stdlib.h>
#include <string.h>
#include "base/sorted.h"
#include "elf/x86.h"
#include "encode/callgraph.h"

#define NONE NUMBERING_NO_CALLEE
#define ENTRY_DISTANCE 64 /* largest distance from a symbol to its code: endbr64, patchable nops */

static uint32_t last_part_at_most(const struct callgraph *cg, uint64_t vaddr)
{
	return SORTED_COUNT(i, cg->n_parts, cg->parts[i].addr <= vaddr) - 1;
}

uint32_t callgraph_part_at(const struct callgraph *cg, uint64_t vaddr)
{
	uint32_t at = last_part_at_most(cg, vaddr);

	return at != NONE && vaddr - cg->parts[at].addr < cg->parts[at].length ? at : NONE;
}

uint32_t callgraph_entered_at(const struct callgraph *cg, const struct elf_module *m,
			      uint64_t vaddr)
{
	uint32_t at = last_part_at_most(cg, vaddr);

	if (at != NONE && cg->parts[at].addr == vaddr)
		return cg->parts[at].func;
	if (at != NONE && vaddr - cg->parts[at].addr < cg->parts[at].length)
		return NONE;
	at++;
	if (at >= cg->n_parts || cg->parts[at].addr - vaddr > ENTRY_DISTANCE)
		return NONE;
	const uint8_t *code = elf_module_at(m, vaddr, cg->parts[at].addr - vaddr);

	for (size_t left = code ? cg->parts[at].addr - vaddr : 0, length; left;
	     left -= length, code += length) {
		length = x86_endbr_or_nop_length(code, left);
		if (!length)
			return NONE;
	}
	return code ? cg->parts[at].func : NONE;
}

int callgraph_make_room(struct callgraph *cg, size_t more)
{
	size_t n_sites = cg->n_sites + more + 1, n_edges = cg->graph.n_sites + more + 1,
	       n_old = cg->guard_samples ? cg->n_sites : 0;
	struct callgraph_site *sites = realloc(cg->sites, n_sites * sizeof(*sites));
	struct numbering_site *edges;
	uint64_t *samples;

	if (!sites)
		return -1;
	cg->sites = sites;
	edges = realloc(cg->graph_sites, n_edges * sizeof(*edges));
	if (!edges)
		return -1;
	cg->graph_sites = edges;
	cg->graph.sites = edges;
	samples = realloc(cg->guard_samples, n_sites * sizeof(*samples));
	if (!samples)
		return -1;
	memset(samples + n_old, 0, (n_sites - n_old) * sizeof(*samples));
	cg->guard_samples = samples;
	return 0;
}

void callgraph_free(struct callgraph *cg)
{
	free(cg->funcs);
	free(cg->parts);
	free(cg->sites);
	free(cg->graph_roots);
	free(cg->graph_can_enter);
	free(cg->graph_noted);
	free(cg->graph_entry_count);
	free(cg->graph_samples);
	free(cg->guard_samples);
	free(cg->graph_sites);
	memset(cg, 0, sizeof(*cg));
}

/* Returns the edge from a type to the function at the address, or NONE. */
static uint32_t edge_to_member(const struct callgraph *cg, const uint32_t *member, uint32_t type,
			       uint64_t addr)
{
	uint32_t part = callgraph_part_at(cg, addr), site;

	if (part == NONE || cg->parts[part].addr != addr)
		return NONE;
	site = member[cg->parts[part].func];
	return site != NONE && cg->sites[site].func == type ? cg->sites[site].edge : NONE;
}

/* Gives the calls of types the samples of the calls through pointers, and members those that the
 * recording has of them. */
static int count_types(struct callgraph *cg, const struct call_counts *counts, struct error *why)
{
	const struct call_target *end = counts->targets + counts->n_targets;
	uint32_t *member = malloc(((size_t)cg->n_funcs + 1) * sizeof(*member));

	if (!member)
		return error_memory(why);
	memset(member, 0xff, cg->n_funcs * sizeof(*member));
	for (uint32_t i = 0; i < cg->n_sites; i++)
		if (cg->sites[i].target == CALLGRAPH_MEMBER)
			member[cg->sites[i].callee] = i;
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *g = &cg->sites[i], *s;

		if (g->target != CALLGRAPH_TYPE)
			continue;
		s = &cg->sites[g->guarded - 1];
		cg->graph_samples[g->edge] = cg->graph_samples[s->edge];
		for (const struct call_target *t =
			     call_target_find(counts->targets, counts->n_targets, s->before);
		     t < end && t->key < s->after; t++) {
			uint32_t edge = edge_to_member(cg, member, g->callee, t->callee);

			if (edge != NONE)
				cg->graph_samples[edge] += t->on_top;
		}
	}
	free(member);
	return 0;
}

int callgraph_count(struct callgraph *cg, const struct call_counts *counts, struct error *why)
{
	size_t at = 0;

	cg->graph_samples = calloc((size_t)cg->graph.n_sites + 1, sizeof(*cg->graph_samples));
	if (!cg->graph_samples)
		return error_memory(why);
	/* Both lists are in order. A key is in its site's before-slot or at its end. */
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *s = &cg->sites[i];

		if (s->edge == NONE)
			continue;
		if (s->guarded || s->target == CALLGRAPH_MEMBER)
			break;
		while (at < counts->n && counts->all[at].key < s->before)
			at++;
		if (at < counts->n && counts->all[at].key < s->after)
			cg->graph_samples[s->edge] += counts->all[at].samples;
	}
	for (uint32_t i = 0; cg->guard_samples && i < cg->n_sites; i++)
		if (cg->sites[i].guarded && cg->sites[i].edge != NONE)
			cg->graph_samples[cg->sites[i].edge] += cg->guard_samples[i];
	cg->graph.samples = cg->graph_samples;
	return cg->n_types ? count_types(cg, counts, why) : 0;
}
