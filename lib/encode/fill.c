// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Fills the slots of sites and functions by the numbering. patch.c makes the code of one slot; this
 * file decides which code it is.
 */
#include <stdlib.h>
#include <string.h>
#include "encode/fill.h"
#include "encode/patch_pointer.h"

static enum pcce_site_kind choose_site_kind(const struct pipeline *p,
					    const struct callgraph_site *site)
{
	if (site->target == CALLGRAPH_NONE)
		return PCCE_KIND_RESTORE;
	if (site->flags & PCCE_SITE_TAIL)
		return PCCE_KIND_TAIL;
	if (site->ext)
		return PCCE_KIND_EXT;
	switch (p->numbering.kind[site->edge]) {
	case NUMBERED_PUSH:
		return PCCE_KIND_PUSH;
	default:
		if (p->is_hybrid && p->hybrid.cases[site->edge] == HYBRID_IMPLICIT)
			return PCCE_KIND_NONE;
		return p->numbering.value[site->edge] ? PCCE_KIND_ADD : PCCE_KIND_NONE;
	}
}

/* Does the function always have the id 0? That must be sure, or a wrong id would seem right. */
static bool has_id_zero(const struct pipeline *p, uint32_t func)
{
	const struct callgraph_func *f = &p->graph.funcs[func];

	return p->numbering.num_cc[func] == 1 && f->sets_id && !f->fixed_entry && !f->stray &&
	       !(f->block_flags & PCCE_BLOCK_LEAF);
}

/* All that begin segments set the id and the base, and no call of the module need do it. */
static int find_hybrid_setters(struct pipeline *p)
{
	for (uint32_t f = 0; f < p->graph.n_funcs; f++) {
		p->graph.funcs[f].sets_id = p->hybrid.roots[f];
		p->graph.funcs[f].sets_base = !p->hybrid.moving[f];
	}
	for (uint32_t i = 0; i < p->graph.n_sites; i++) {
		struct callgraph_site *site = &p->graph.sites[i];
		enum pcce_site_kind kind = choose_site_kind(p, site);

		site->if_explicit =
			kind == PCCE_KIND_ADD && p->hybrid.cases[site->edge] == HYBRID_GUARDED;
		site->offset = (kind == PCCE_KIND_PUSH || kind == PCCE_KIND_EXT) &&
			       !p->hybrid.moving[site->func];
		site->flags |= (site->if_explicit ? PCCE_SITE_IF_EXPLICIT : 0) |
			       (site->offset ? PCCE_SITE_OFFSET : 0);
	}
	return 0;
}

int fill_find_setters(struct pipeline *p, struct error *why)
{
	(void)why;
	if (p->is_hybrid)
		return find_hybrid_setters(p);
	for (uint32_t f = 0; f < p->graph.n_funcs; f++) {
		struct callgraph_func *func = &p->graph.funcs[f];

		func->sets_id = func->entry_len && (func->root || p->numbering.entered[f]);
	}
	for (uint32_t i = 0; i < p->graph.n_sites; i++) {
		struct callgraph_site *site = &p->graph.sites[i];

		if (site->target == CALLGRAPH_MEMBER)
			continue;
		site->id_is_zero = has_id_zero(p, site->func);
		site->clears =
			site->target == CALLGRAPH_INSIDE && !site->id_is_zero &&
			(site->flags & PCCE_SITE_INDIRECT || !p->graph.funcs[site->callee].sets_id);
	}
	return 0;
}

/*
 * Does the site lead past the callee's entry slot? An ext site does, since it keeps the id, and so
 * does any site if the slot stays empty. A tail call out of a function that only pushes lead to
 * goes through the entry slot, as a push does.
 */
static bool leads_behind_entry(const struct pipeline *p, const struct callgraph_site *site)
{
	const struct callgraph_func *callee;

	if (site->target != CALLGRAPH_INSIDE)
		return false;
	callee = &p->graph.funcs[site->callee];
	if (site->ext || !callee->sets_id)
		return callee->entry_len && !callee->fixed_entry;
	switch (p->numbering.kind[site->edge]) {
	case NUMBERED_VALUE:
		return true;
	case NUMBERED_TAIL:
		return !p->numbering.tail_out[site->func];
	default:
		return false;
	}
}

/* Makes the slot of a tail call that has a call beside it. */
static int make_tail_slot(const struct pipeline *p, const struct callgraph_site *site,
			  struct patch_slots *patch, struct pcce_table_site *out, struct error *why)
{
	const struct callgraph_site *call = &p->graph.sites[site->guard - 1], *guard;
	const struct callgraph_func *callee;
	struct patch_tail tail = {.call = &p->sites[site->guard - 1]};

	if (call->guard) {
		guard = &p->graph.sites[call->guard - 1];
		callee = &p->graph.funcs[guard->callee];
		tail.pointer = callee->addr;
		tail.target =
			leads_behind_entry(p, guard) ? patch_behind_entry(callee) : callee->addr;
		tail.guard = &p->sites[call->guard - 1];
	}
	return patch_make_tail(&p->page, p->module, site, p->graph.funcs[site->func].name, &tail,
			       patch, out, why);
}

/* Makes the slots of a site with a guard. */
static int make_guarded(const struct pipeline *p, const struct callgraph_site *site,
			struct patch_slots *patch, struct pcce_table_site *out, struct error *why)
{
	const struct callgraph_site *guard = &p->graph.sites[site->guard - 1];
	const struct callgraph_func *callee;
	enum pcce_site_kind kind = choose_site_kind(p, guard);
	uint64_t value = kind == PCCE_KIND_ADD ? p->numbering.value[guard->edge] : 0, target;

	if (site->flags & PCCE_SITE_TAIL)
		return make_tail_slot(p, site, patch, out, why);
	if (guard->target == CALLGRAPH_TYPE)
		return patch_make_typed(&p->page, p->module, site, guard,
					p->graph.funcs[site->func].name, value, patch, out,
					&p->sites[site->guard - 1], why);
	callee = &p->graph.funcs[guard->callee];
	target = leads_behind_entry(p, guard) ? patch_behind_entry(callee) : callee->addr;

	return patch_make_guarded(&p->page, p->module, site, p->graph.funcs[site->func].name,
				  callee->addr, target, kind, value, patch, out,
				  &p->sites[site->guard - 1], why);
}

int fill_sites(struct pipeline *p, struct error *why)
{
	p->patched = malloc(p->module->size + 1);
	p->sites = calloc((size_t)p->graph.n_sites + 1, sizeof(*p->sites));
	if (!p->patched || !p->sites)
		return error_memory(why);
	memcpy(p->patched, p->module->image, p->module->size);
	for (uint32_t i = 0; i < p->graph.n_sites; i++) {
		const struct callgraph_site *site = &p->graph.sites[i];
		struct pcce_table_site *out = &p->sites[i];
		const char *name;
		struct patch_slots patch = {.n_jump = 0};
		int err;

		out->kind = choose_site_kind(p, site);
		out->value = out->kind == PCCE_KIND_ADD ? p->numbering.value[site->edge] : 0;
		if (site->target == CALLGRAPH_MEMBER)
			out->key = site->before;
		if (site->guarded || site->target == CALLGRAPH_MEMBER)
			continue;
		name = p->graph.funcs[site->func].name;
		if (site->guard)
			err = make_guarded(p, site, &patch, out, why);
		else
			err = patch_make(&p->page, site, name, out->kind, out->value, &patch, out,
					 why);
		if (!err)
			err = patch_apply(p->module, site, name, &patch, p->patched, why);
		if (err)
			return err;
	}
	return 0;
}

int fill_entries(struct pipeline *p, struct error *why)
{
	int err = 0;

	for (uint32_t f = 0; !err && f < p->graph.n_funcs; f++)
		if (p->graph.funcs[f].sets_id)
			err = patch_entry(&p->page, p->module, &p->graph.funcs[f],
					  p->numbering.start[f], p->patched, why);
	for (uint32_t i = 0; !err && i < p->graph.n_sites; i++) {
		const struct callgraph_site *site = &p->graph.sites[i];

		if (!site->guarded && leads_behind_entry(p, site))
			err = patch_distance(p->module, site, &p->graph.funcs[site->callee],
					     p->patched, why);
	}
	return err;
}
