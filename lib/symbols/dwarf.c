/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Collects inline chains and lines for many addresses in one walk over the debug information.
 * symbolize.c describes the whole procedure.
 *
 * Every address has a list of links, one for each function that contains it. The walk goes from the
 * outside in, so the newest link is the innermost function, and the list is the inline chain.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/sorted.h"
#include "symbols/dwarf.h"

#define NO_LINK UINT32_MAX
#define MAX_NESTING 256 /* of blocks; a deeper tree is damaged */

struct link {
	uint32_t outer; /* link of the function that this one was inlined into */
	uint32_t call_line;
	const char *function, *call_file;
};

struct tree_place {
	uint32_t links; /* the innermost */
	uint32_t line;
	const char *file;
};

struct dwarf_chains {
	const uint64_t *vaddrs;
	size_t n;
	struct tree_place *places;
	struct link *links;
	size_t n_links;
	Dwarf_Files *files; /* of the current unit */
	int error;
};

static size_t first_address_from(const struct dwarf_chains *c, uint64_t addr)
{
	return SORTED_COUNT(i, c->n, c->vaddrs[i] < addr);
}

/* Do the ranges of a DIE hold any address? *ranged: the DIE has ranges. */
static bool holds_any(struct dwarf_chains *c, Dwarf_Die *die, bool *ranged)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	*ranged = false;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		size_t i = first_address_from(c, start);

		*ranged = true;
		if (i < c->n && c->vaddrs[i] < end)
			return true;
	}
	return false;
}

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name && dwarf_attr_integrate(die, DW_AT_name, &attr))
		name = dwarf_formstring(&attr);
	return name;
}

static uint32_t add_chain_link(struct dwarf_chains *c, const struct link *link)
{
	if (c->n_links == NO_LINK || array_grow(&c->links, c->n_links, sizeof(*link))) {
		c->error = -ENOMEM;
		return NO_LINK;
	}
	c->links[c->n_links] = *link;
	return (uint32_t)c->n_links++;
}

/* Gives all addresses in a function's ranges a link to it. */
static void enter_function(struct dwarf_chains *c, Dwarf_Die *die, bool inlined)
{
	struct link link = {.function = die_name(die)};
	Dwarf_Addr base, start, end;
	Dwarf_Attribute attr;
	Dwarf_Word number;
	ptrdiff_t at = 0;

	if (inlined) {
		if (dwarf_attr(die, DW_AT_call_line, &attr) && !dwarf_formudata(&attr, &number))
			link.call_line = (uint32_t)number;
		if (dwarf_attr(die, DW_AT_call_file, &attr) && !dwarf_formudata(&attr, &number) &&
		    c->files)
			link.call_file = dwarf_filesrc(c->files, number, NULL, NULL);
	}
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		size_t i;

		for (i = first_address_from(c, start); i < c->n && c->vaddrs[i] < end; i++) {
			struct tree_place *p = &c->places[i];
			uint32_t added;

			/*
			 * Another function at this address, not inside the first: folded code. The
			 * first one stays.
			 */
			if (!inlined && p->links != NO_LINK)
				continue;
			link.outer = p->links;
			added = add_chain_link(c, &link);
			if (added == NO_LINK)
				return;
			p->links = added;
		}
	}
}

static void walk_die_children(struct dwarf_chains *c, Dwarf_Die *parent, int nesting)
{
	Dwarf_Die die;

	if (nesting > MAX_NESTING || dwarf_child(parent, &die))
		return;
	do {
		bool ranged;

		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			if (!holds_any(c, &die, &ranged))
				break;
			enter_function(c, &die, dwarf_tag(&die) == DW_TAG_inlined_subroutine);
			walk_die_children(c, &die, nesting + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			if (holds_any(c, &die, &ranged) || !ranged)
				walk_die_children(c, &die, nesting + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
			walk_die_children(c, &die, nesting + 1);
			break;
		default:
			break;
		}
	} while (!c->error && !dwarf_siblingof(&die, &die));
}

static void read_lines(struct dwarf_chains *c, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
		size_t i;

		for (i = first_address_from(c, start); i < c->n && c->vaddrs[i] < end; i++) {
			Dwarf_Line *line = dwarf_getsrc_die(unit, c->vaddrs[i]);
			int number;

			if (!line || dwarf_lineno(line, &number) || number <= 0)
				continue;
			c->places[i].line = (uint32_t)number;
			c->places[i].file = dwarf_linesrc(line, NULL, NULL);
		}
	}
}

int dwarf_chains_new(Dwarf *dwarf, const uint64_t *vaddrs, size_t n, struct dwarf_chains **out)
{
	struct dwarf_chains *c = calloc(1, sizeof(*c));
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, split;
	uint8_t type;
	size_t i, files;

	if (c)
		c->places = calloc(n ? n : 1, sizeof(*c->places));
	if (!c || !c->places) {
		free(c);
		return -ENOMEM;
	}
	c->vaddrs = vaddrs;
	c->n = n;
	for (i = 0; i < n; i++)
		c->places[i].links = NO_LINK;
	while (dwarf && !c->error && !dwarf_get_units(dwarf, cu, &cu, NULL, &type, &unit, &split)) {
		bool ranged;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (!holds_any(c, &unit, &ranged) && ranged)
			continue;
		if (dwarf_getsrcfiles(&unit, &c->files, &files))
			c->files = NULL;
		walk_die_children(c,
				  type == DW_UT_skeleton && dwarf_tag(&split) != DW_TAG_invalid
					  ? &split
					  : &unit,
				  0);
		read_lines(c, &unit);
	}
	if (c->error) {
		int err = c->error;

		dwarf_chains_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void dwarf_chains_free(struct dwarf_chains *c)
{
	if (!c)
		return;
	free(c->places);
	free(c->links);
	free(c);
}

size_t dwarf_chain_length(const struct dwarf_chains *c, size_t i)
{
	size_t n = 0;
	uint32_t l;

	for (l = c->places[i].links; l != NO_LINK; l = c->links[l].outer)
		n++;
	return n;
}

void dwarf_chain_frame(const struct dwarf_chains *c, size_t i, size_t k, const char **function,
		       const char **file, uint32_t *line)
{
	uint32_t l = c->places[i].links, inner = NO_LINK;

	while (k--) {
		inner = l;
		l = c->links[l].outer;
	}
	*function = c->links[l].function;
	if (inner == NO_LINK) {
		dwarf_chain_line(c, i, file, line);
		return;
	}
	*file = c->links[inner].call_file ? c->links[inner].call_file : "";
	*line = c->links[inner].call_line;
}

void dwarf_chain_line(const struct dwarf_chains *c, size_t i, const char **file, uint32_t *line)
{
	*file = c->places[i].file ? c->places[i].file : "";
	*line = c->places[i].line;
}
