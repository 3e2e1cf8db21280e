/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Builds the call graph from site records and linked instructions.
 *
 * A function is identified by the start of its hot part. The callee of a site is read from the
 * linked instruction. So it is the function that is really called, after linker relaxation, symbol
 * versions, --wrap and --defsym. The instruction names an address or a GOT slot. The address is
 * that of a function or of a PLT stub, which leads to a slot. A slot holds an address, or the
 * loader fills it with the address of a named symbol.
 *
 * A call that the loader resolves is a call out of the module, even if the module defines a
 * function of that name: another definition may precede it. gates.h says what becomes of it then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/sorted.h"
#include "encode/callgraph.h"
#include "elf/x86.h"

#define NONE NUMBERING_NO_CALLEE

static uint32_t func_with_start(const struct callgraph *cg, uint64_t addr)
{
	uint32_t low = SORTED_COUNT(i, cg->n_funcs, cg->funcs[i].addr < addr);

	return low < cg->n_funcs && cg->funcs[low].addr == addr ? low : NONE;
}

int callgraph_add_functions(struct callgraph *cg, const struct site_records *r, bool fixed,
			    struct error *why)
{
	uint64_t n_sites = 0;

	cg->funcs = calloc(r->n_blocks + 1, sizeof(*cg->funcs));
	cg->parts = calloc(r->n_blocks + 1, sizeof(*cg->parts));
	if (!cg->funcs || !cg->parts)
		return error_memory(why);
	for (size_t i = 0; i < r->n_blocks; i++) {
		const struct site_block *b = &r->blocks[i];

		n_sites += b->head.n_sites;
		if (b->head.flags & PCCE_BLOCK_COLD)
			continue;
		/*
		 * A function without code after its entry slot has no usable slot: a call led past
		 * it would reach the next function.
		 */
		bool has_entry =
			b->head.entry_len && b->head.entry + b->head.entry_len < b->head.length;

		cg->funcs[cg->n_funcs++] = (struct callgraph_func){
			.addr = b->head.start,
			.name = b->name,
			.block_flags = b->head.flags,
			.fixed_entry = has_entry && (fixed || b->head.flags & PCCE_BLOCK_FIXED),
			.entry = b->head.entry,
			.entry_len = has_entry ? b->head.entry_len : 0,
			.entry_count = b->head.entry_count,
			.type = b->head.type,
		};
	}
	for (size_t i = 0; i < r->n_blocks; i++) {
		const struct site_block *b = &r->blocks[i];
		uint32_t func = func_with_start(
			cg, b->head.flags & PCCE_BLOCK_COLD ? b->head.main : b->head.start);

		if (func == NONE)
			return error_set(why, -EINVAL,
					 "has damaged site records: '%s' has a cold part only",
					 b->name);
		cg->parts[cg->n_parts++] =
			(struct callgraph_part){b->head.start, b->head.length, func};
	}
	if (n_sites >= NONE)
		return error_set(why, -EINVAL, "has too many sites");
	cg->sites = calloc(n_sites + 1, sizeof(*cg->sites));
	return cg->sites ? 0 : error_memory(why);
}

static void set_inside(struct callgraph_site *s, uint32_t callee)
{
	s->target = CALLGRAPH_INSIDE;
	s->callee = callee;
}

/* Resolves a site that leads to an address: of an instrumented function, a stub, or other code. */
static void resolve_address(const struct callgraph *cg, const struct elf_module *m,
			    const struct elf_relocs *l, struct callgraph_site *s, uint64_t target)
{
	uint32_t callee = callgraph_entered_at(cg, m, target), part = callgraph_part_at(cg, target);
	const struct elf_segment *segment = elf_module_segment(m, target);
	struct elf_got_slot slot;
	uint64_t slot_at;

	s->target = CALLGRAPH_OUTSIDE;
	if (callee != NONE) {
		set_inside(s, callee);
	} else if (part != NONE) {
		/* The address is inside a function: the call becomes a push. */
		set_inside(s, cg->parts[part].func);
		if (!(s->flags & PCCE_SITE_TAIL))
			s->flags |= PCCE_SITE_INDIRECT;
	} else if (segment && segment->executable) {
		uint64_t left = segment->vaddr + segment->file_size - target;
		const uint8_t *code = elf_module_at(m, target, left < 32 ? left : 32);

		if (!code || !x86_decode_stub(code, left < 32 ? left : 32, target, &slot_at) ||
		    !elf_relocs_slot(l, m, slot_at, &slot))
			return;
		if (slot.name) {
			s->callee_name = *slot.name ? slot.name : NULL;
			s->link = (struct callgraph_link){slot_at, target, slot.own, 0, slot.ifunc};
		} else if ((callee = callgraph_entered_at(cg, m, slot.target)) != NONE) {
			set_inside(s, callee);
		}
	}
}

static int resolve_site(const struct callgraph *cg, const struct elf_module *m,
			const struct elf_relocs *l, struct callgraph_site *s, struct error *why)
{
	uint64_t at = s->before + s->before_len;
	struct x86_branch branch;
	struct elf_got_slot slot;

	if (s->flags & PCCE_SITE_RESTORE) {
		s->target = CALLGRAPH_NONE;
		return 0;
	}
	if (s->flags & PCCE_SITE_INDIRECT) {
		s->target = CALLGRAPH_UNKNOWN;
		return 0;
	}
	const uint8_t *code = elf_module_at(m, at, s->after - at);

	branch = code ? x86_decode_branch(code, s->after - at, at, s->flags & PCCE_SITE_TAIL)
		      : (struct x86_branch){};
	switch (branch.kind) {
	case X86_TO_ADDRESS:
		resolve_address(cg, m, l, s, branch.target);
		if (branch.field_bytes == 4 && callgraph_entered_at(cg, m, branch.target) != NONE)
			s->distance = at + branch.field;
		/* A prefix 67 and a nop after a jump mean that the linker has rewritten it. */
		if (branch.field_bytes == 4 && branch.field + 4 == s->after - at && *code != 0x67)
			s->link.field = at + branch.field;
		return 0;
	case X86_THROUGH_SLOT:
		s->target = CALLGRAPH_OUTSIDE;
		if (!elf_relocs_slot(l, m, branch.target, &slot))
			return 0;
		if (slot.name) {
			s->callee_name = *slot.name ? slot.name : NULL;
			s->link =
				(struct callgraph_link){branch.target, 0, slot.own, 0, slot.ifunc};
			if (s->after - at == 6 && *code == 0xff)
				s->link.field = at + 2;
		} else {
			resolve_address(cg, m, l, s, slot.target);
		}
		return 0;
	default:
		/*
		 * A relaxed TLS sequence calls nothing. One through a descriptor calls only a leaf
		 * callee.
		 */
		s->target = CALLGRAPH_OUTSIDE;
		if (s->flags & PCCE_SITE_LEAF)
			return 0;
		return error_set(
			why, -EINVAL,
			"has a call of an unknown form at %#llx in '%s' (line %u); report it "
			"with the linker's version",
			(unsigned long long)at, cg->funcs[s->func].name, s->line);
	}
}

/* Orders sites by start. A restore site can begin where a call does, and follows it. */
static int compare_site_starts(const void *pa, const void *pb)
{
	const struct callgraph_site *a = pa, *b = pb;
	int a_window = a->target == CALLGRAPH_NONE, b_window = b->target == CALLGRAPH_NONE;

	if (a->before != b->before)
		return a->before < b->before ? -1 : 1;
	return a_window - b_window;
}

static int compare_site_places(const void *pa, const void *pb)
{
	const struct callgraph_site *a = pa, *b = pb;
	int order = compare_site_starts(a, b);

	return order ? order : a->after < b->after ? -1 : a->after > b->after;
}

static void add_landings(struct callgraph *cg, const struct site_records *r)
{
	for (size_t i = 0; i < r->n_blocks; i++) {
		const struct site_block *b = &r->blocks[i];

		for (uint32_t k = 0; k < b->head.n_sites; k++) {
			struct pcce_site_record record = site_records_site(b, k);
			struct callgraph_site key = {.before = b->head.start + record.before,
						     .target = record.flags & PCCE_SITE_RESTORE
								       ? CALLGRAPH_NONE
								       : CALLGRAPH_INSIDE};
			struct callgraph_site *s;

			if (!(record.flags & PCCE_SITE_LANDING))
				continue;
			s = bsearch(&key, cg->sites, cg->n_sites, sizeof(key), compare_site_starts);
			if (s)
				s->landing = b->head.start + record.after;
		}
	}
}

int callgraph_add_sites(struct callgraph *cg, const struct elf_module *m,
			const struct site_records *r, const struct elf_relocs *l, struct error *why)
{
	const struct callgraph_site *last = NULL;

	for (size_t i = 0; i < r->n_blocks; i++) {
		const struct site_block *b = &r->blocks[i];

		for (uint32_t k = 0; k < b->head.n_sites; k++) {
			struct pcce_site_record record = site_records_site(b, k);
			struct callgraph_site *s = &cg->sites[cg->n_sites];
			int err;

			/* A restore site without length contains no instruction. */
			if (record.flags & PCCE_SITE_LANDING ||
			    (record.flags & PCCE_SITE_RESTORE && record.before == record.after))
				continue;
			cg->n_sites++;
			*s = (struct callgraph_site){.before = b->head.start + record.before,
						     .after = b->head.start + record.after,
						     .before_len = record.before_len,
						     .after_len = record.after_len,
						     .flags = record.flags,
						     .freq = record.freq,
						     .line = record.line,
						     .copy = record.copy,
						     .type = record.type,
						     .func = cg->parts[i].func,
						     .part = i,
						     .callee = NONE,
						     .edge = NONE};
			cg->funcs[s->func].has_sites = true;
			err = resolve_site(cg, m, l, s, why);
			if (err)
				return err;
		}
	}
	qsort(cg->sites, cg->n_sites, sizeof(*cg->sites), compare_site_places);
	add_landings(cg, r);
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *s = &cg->sites[i];

		if (s->target == CALLGRAPH_NONE)
			continue;
		if (last && s->before < last->after + last->after_len)
			return error_set(why, -EINVAL,
					 "has damaged site records: two sites of '%s' overlap",
					 cg->funcs[s->func].name);
		last = s;
	}
	return 0;
}

/* Orders sites so that copies of one call are neighbours. */
static int compare_copies(const void *pa, const void *pb)
{
	const struct callgraph_site *const *a = pa, *const *b = pb;

	if ((*a)->part != (*b)->part)
		return (*a)->part < (*b)->part ? -1 : 1;
	if ((*a)->copy != (*b)->copy)
		return (*a)->copy < (*b)->copy ? -1 : 1;
	if ((*a)->callee != (*b)->callee)
		return (*a)->callee < (*b)->callee ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

void callgraph_add_edge(struct callgraph *cg, struct callgraph_site *s)
{
	struct numbering_site *e = &cg->graph_sites[cg->graph.n_sites];
	bool inside = s->target == CALLGRAPH_INSIDE,
	     fixed = inside && cg->funcs[s->callee].fixed_entry;

	s->edge = cg->graph.n_sites++;
	*e = (struct numbering_site){s->func, inside ? s->callee : NONE, 0, s->freq};
	if (s->flags & PCCE_SITE_TAIL) {
		e->flags |= NUMBERING_TAIL;
		if (fixed)
			e->callee = NONE;
	} else if (!inside || fixed || s->flags & PCCE_SITE_INDIRECT) {
		e->flags |= NUMBERING_PUSH;
	} else if (s->before_len >=
		   (s->flags & PCCE_SITE_PIC ? PCCE_SLOT_PUSH_PIC : PCCE_SLOT_PUSH_CLEAR)) {
		e->flags |= NUMBERING_ROOM;
	}
}

/*
 * Does the site call a function of the module that calls nothing? There only the site must be
 * known.
 */
bool callgraph_calls_bare(const struct callgraph *cg, const struct callgraph_site *s)
{
	return s->target == CALLGRAPH_INSIDE &&
	       !(s->flags & (PCCE_SITE_INDIRECT | PCCE_SITE_RETURNS_TWICE)) &&
	       !cg->funcs[s->callee].has_sites && !cg->funcs[s->callee].fixed_entry;
}

int callgraph_add_edges(struct callgraph *cg, callgraph_ext_fits *ext_fits, const void *ctx,
			struct error *why)
{
	struct callgraph_site **copies = malloc(((size_t)cg->n_sites + 1) * sizeof(*copies)),
			      *first = NULL;
	uint32_t n_copies = 0;

	cg->graph_sites = calloc((size_t)cg->n_sites + 1, sizeof(*cg->graph_sites));
	if (!copies || !cg->graph_sites) {
		free(copies);
		return error_memory(why);
	}
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		struct callgraph_site *s = &cg->sites[i];

		s->ext = (s->target == CALLGRAPH_OUTSIDE ? s->flags & PCCE_SITE_LEAF
							 : callgraph_calls_bare(cg, s)) &&
			 !(s->flags & PCCE_SITE_TAIL) && ext_fits(s, ctx);
		if (s->ext || s->target == CALLGRAPH_NONE)
			continue;
		if (s->copy && s->target == CALLGRAPH_INSIDE &&
		    !(s->flags & (PCCE_SITE_TAIL | PCCE_SITE_INDIRECT)))
			copies[n_copies++] = s;
		else
			callgraph_add_edge(cg, s);
	}
	qsort(copies, n_copies, sizeof(*copies), compare_copies);
	for (uint32_t i = 0; i < n_copies; i++) {
		struct callgraph_site *s = copies[i];

		if (first && first->part == s->part && first->copy == s->copy &&
		    first->callee == s->callee) {
			struct numbering_site *e = &cg->graph_sites[first->edge];

			e->freq = e->freq > UINT32_MAX - s->freq ? UINT32_MAX : e->freq + s->freq;
			s->edge = first->edge;
		} else {
			callgraph_add_edge(cg, s);
			first = s;
		}
	}
	free(copies);
	cg->graph.sites = cg->graph_sites;
	return 0;
}

/* A call through a GOT slot, or a short jump, cannot be led past an entry slot. */
void callgraph_find_fixed_entries(struct callgraph *cg)
{
	for (uint32_t i = 0; i < cg->n_sites; i++) {
		const struct callgraph_site *s = &cg->sites[i];

		if (s->target == CALLGRAPH_INSIDE && !s->distance &&
		    !(s->flags & PCCE_SITE_INDIRECT))
			cg->funcs[s->callee].fixed_entry = cg->funcs[s->callee].entry_len;
	}
}

int callgraph_add_nodes(struct callgraph *cg, struct error *why)
{
	cg->graph_roots = calloc((size_t)cg->n_funcs + 1, 1);
	cg->graph_can_enter = calloc((size_t)cg->n_funcs + 1, 1);
	cg->graph_noted = calloc((size_t)cg->n_funcs + 1, 1);
	cg->graph_entry_count = calloc((size_t)cg->n_funcs + 1, sizeof(*cg->graph_entry_count));
	if (!cg->graph_roots || !cg->graph_can_enter || !cg->graph_noted || !cg->graph_entry_count)
		return error_memory(why);
	for (uint32_t i = 0; i < cg->n_sites; i++)
		if (cg->sites[i].ext && cg->sites[i].target == CALLGRAPH_INSIDE)
			cg->graph_noted[cg->sites[i].callee] = 1;
	for (uint32_t f = 0; f < cg->n_funcs; f++) {
		const struct callgraph_func *func = &cg->funcs[f];

		cg->graph_roots[f] = func->root;
		cg->graph_entry_count[f] = func->entry_count;
		/*
		 * The entry slot of a leaf callee sets the id only if it was not called as one. A
		 * push leads around a gate, so no segment begins there.
		 */
		cg->graph_can_enter[f] = func->block_flags & PCCE_BLOCK_GATE ||
					 (func->entry_len && !func->fixed_entry && !func->stray &&
					  !(func->block_flags & PCCE_BLOCK_LEAF && !func->root));
	}
	cg->graph.n_funcs = cg->n_funcs;
	cg->graph.root = cg->graph_roots;
	cg->graph.can_enter = cg->graph_can_enter;
	cg->graph.noted = cg->graph_noted;
	cg->graph.entry_count = cg->graph_entry_count;
	return 0;
}
