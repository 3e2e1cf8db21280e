/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the functions that can be entered by other ways than the sites of the module. It scans the
 * linked file, because only there is everything from the linker, hand-written assembler and
 * uninstrumented objects visible. A function is a root if one of these names it:
 *
 *   1. The name main, the ELF entry point, or the dynamic symbol table.
 *   2. A relocation.  In position-independent code every pointer in data comes from one (RELATIVE,
 *      RELR, that of a symbol or an ifunc).
 *   3. In a module at a fixed address: any four bytes of any segment that equal the function's
 *      address.  A pointer in the small code model has zeros above them.
 *   4. Any lea of the function's address in code.
 *   5. Any call or jump to the function in uninstrumented code.  In instrumented code outside of
 *      sites (inline assembly), its existence is only noted.
 *   6. Any eight bytes in code that equal the function's distance from the GOT.  The large code
 *      model makes addresses in position-independent code this way.
 *
 * 3 to 6 look at every byte position without disassembly, so no reference can be missed. An
 * accidental match makes one more function a root, which costs an id or two.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "encode/callgraph.h"
#include "elf/x86.h"

#define NONE NUMBERING_NO_CALLEE
#define SPREAD_MAX (1ull << 34)

struct scan {
	struct callgraph *cg;
	const struct elf_module *m;
	uint64_t low, high; /* range of the starts of parts, and of nops before them */
	uint8_t *entry;	    /* a bit for each address: a function may be entered there */
};

static uint32_t find_func(const struct scan *s, uint64_t vaddr)
{
	uint64_t bit = vaddr - s->low;

	if (vaddr < s->low || vaddr >= s->high || !(s->entry[bit / 8] >> bit % 8 & 1))
		return NONE;
	return callgraph_entered_at(s->cg, s->m, vaddr);
}

static void mark_root(const struct scan *s, uint64_t vaddr)
{
	uint32_t func = find_func(s, vaddr);

	if (func != NONE)
		s->cg->funcs[func].root = true;
}

static void set_address_bit(struct scan *s, uint64_t vaddr)
{
	if (vaddr >= s->low && vaddr < s->high)
		s->entry[(vaddr - s->low) / 8] |= 1 << (vaddr - s->low) % 8;
}

/* Sets the bits: of the starts, and of addresses before them from which only nops lead there. */
static int find_entries(struct scan *s, struct error *why)
{
	const struct callgraph_part *first = &s->cg->parts[0],
				    *last = &s->cg->parts[s->cg->n_parts - 1];
	const uint64_t distance = 64;

	s->low = first->addr > distance ? first->addr - distance : 0;
	s->high = last->addr + 1;
	if (s->high - s->low > SPREAD_MAX)
		return error_set(why, -EINVAL, "has code segments that lie too far apart");
	s->entry = calloc((s->high - s->low) / 8 + 1, 1);
	if (!s->entry)
		return error_memory(why);
	for (uint32_t i = 0; i < s->cg->n_parts; i++) {
		const struct callgraph_part *p = &s->cg->parts[i];
		uint64_t end = i ? p[-1].addr + p[-1].length : s->low;

		set_address_bit(s, p->addr);
		for (uint64_t before = 1;
		     before <= distance && p->addr - before >= end && p->addr >= before; before++)
			if (callgraph_entered_at(s->cg, s->m, p->addr - before) != NONE)
				set_address_bit(s, p->addr - before);
	}
	return 0;
}

/* Scans every position of a segment at a fixed address for pointers. */
static void scan_pointers(const struct scan *s, const struct elf_segment *segment)
{
	const uint8_t *p = elf_module_at(s->m, segment->vaddr, segment->file_size);

	for (uint64_t i = 0; p && i + 4 <= segment->file_size; i++)
		mark_root(s, x86_load32(p + i));
}

static void scan_distances(const struct scan *s, const struct elf_segment *segment)
{
	const uint8_t *p = elf_module_at(s->m, segment->vaddr, segment->file_size);
	const struct elf_section *got = elf_module_section(s->m, ".got.plt", NULL);

	if (!got)
		got = elf_module_section(s->m, ".got", NULL);
	for (uint64_t i = 0; got && p && i + 8 <= segment->file_size; i++) {
		uint64_t distance;

		memcpy(&distance, p + i, sizeof(distance));
		mark_root(s, got->addr + distance);
	}
}

/* Is [from, to) in inline assembly that is a site? Advances *site past the sites before it. */
static bool is_in_assembly(const struct callgraph_site **site, const struct callgraph_site *end,
			   uint64_t from, uint64_t to)
{
	while (*site < end && (*site)->after < to)
		++*site;
	return *site < end && (*site)->flags & PCCE_SITE_INDIRECT &&
	       (*site)->before + (*site)->before_len <= from;
}

static void scan_code(const struct scan *s, const struct elf_segment *segment,
		      const struct site_records *r)
{
	const uint8_t *p = elf_module_at(s->m, segment->vaddr, segment->file_size);
	const struct callgraph_part *part = s->cg->parts, *end = part + s->cg->n_parts;
	const struct callgraph_site *site = s->cg->sites, *assembly = site,
				    *sites_end = site + s->cg->n_sites;

	for (uint64_t i = 1; p && i + 4 <= segment->file_size; i++) {
		uint64_t at = segment->vaddr + i;
		uint8_t opcode = p[i - 1];
		bool is_lea = i >= 2 && p[i - 2] == 0x8d && (opcode & 0xc7) == 0x05;
		bool is_branch = (opcode & 0xfe) == 0xe8 ||
				 (i >= 2 && p[i - 2] == 0x0f && (opcode & 0xf0) == 0x80);

		if (!is_lea && !is_branch)
			continue;
		while (part < end && part->addr + part->length < at)
			part++;
		if (!is_lea) {
			/* at is the address after the opcode. */
			bool instrumented = part < end && at - 1 >= part->addr;
			bool runtime = r->has_entries && at - 1 >= r->entries.text &&
				       at - 1 < r->entries.text_end;

			if (runtime ||
			    (instrumented && part->func == NONE)) /* a gate that is not used */
				continue;
			if (instrumented && !is_in_assembly(&assembly, sites_end, at - 1, at + 4)) {
				uint32_t func =
					find_func(s, at + 4 + (uint64_t)x86_load_rel32(p + i));

				while (site < sites_end && site->distance < at)
					site++;
				if (func != NONE && !(site < sites_end && site->distance == at))
					s->cg->funcs[func].stray = true;
				continue;
			}
		}
		mark_root(s, at + 4 + (uint64_t)x86_load_rel32(p + i));
	}
}

int callgraph_find_roots(struct callgraph *cg, const struct elf_module *m,
			 const struct site_records *r, const struct elf_relocs *l,
			 struct error *why)
{
	struct scan s = {.cg = cg, .m = m};
	int err;

	if (!cg->n_parts)
		return 0;
	err = find_entries(&s, why);
	if (err)
		return err;
	mark_root(&s, m->entry);
	for (uint32_t f = 0; f < cg->n_funcs; f++)
		if (!strcmp(cg->funcs[f].name, "main"))
			cg->funcs[f].root = true;
	for (size_t i = 0; i < l->n_exports; i++)
		mark_root(&s, l->exports[i]);
	for (size_t i = 0; i < l->n_taken; i++)
		mark_root(&s, l->taken[i]);
	for (size_t i = 0; i < m->n_segments; i++) {
		if (m->fixed_address)
			scan_pointers(&s, &m->segments[i]);
		if (m->segments[i].executable) {
			scan_distances(&s, &m->segments[i]);
			scan_code(&s, &m->segments[i], r);
		}
	}
	free(s.entry);
	return 0;
}
