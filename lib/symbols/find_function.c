/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See find_function.h. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>

#include "symbols/elf_symbols.h"
#include "symbols/find_function.h"

#define NESTED_MAX 32 /* namespaces and classes; a deeper tree is damaged */

/* ---- symbols ----------------------------------------------------------------------- */

struct wanted_symbol {
	find_function_name *is;
	void *ctx;
};

static bool is_wanted_symbol(void *ctx, const char *name, const GElf_Sym *symbol)
{
	const struct wanted_symbol *w = ctx;
	unsigned int type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && w->is(w->ctx, name);
}

bool find_function_symbol(int fd, find_function_name *is, void *ctx)
{
	struct wanted_symbol w = {is, ctx};
	bool found;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	found = elf_symbols_search(elf, is_wanted_symbol, &w);
	elf_end(elf);
	return found;
}

/* ---- debug information --------------------------------------------------------------- */

static const char *text_of_die(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

static bool is_inlined_function(Dwarf_Die *die, find_function_name *is, void *ctx)
{
	const char *linkage, *name;

	if (dwarf_tag(die) != DW_TAG_subprogram || !dwarf_func_inline(die))
		return false;
	linkage = text_of_die(die, DW_AT_linkage_name);
	name = text_of_die(die, DW_AT_name);
	return (linkage && is(ctx, linkage)) || (name && is(ctx, name));
}

static bool children_have_inlined(Dwarf_Die *parent, find_function_name *is, void *ctx,
				  unsigned int depth)
{
	Dwarf_Die die;
	int more = dwarf_child(parent, &die);

	for (; !more; more = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);

		if (is_inlined_function(&die, is, ctx))
			return true;
		if ((tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
		     tag == DW_TAG_structure_type) &&
		    depth < NESTED_MAX && children_have_inlined(&die, is, ctx, depth + 1))
			return true;
	}
	return false;
}

bool find_function_inlined(int fd, find_function_name *is, void *ctx)
{
	Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CU *cu = NULL;
	bool found = false;
	Dwarf_Die unit;

	while (dwarf && !found && !dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL))
		found = children_have_inlined(&unit, is, ctx, 0);
	dwarf_end(dwarf);
	return found;
}
