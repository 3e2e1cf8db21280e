/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See find_function.h. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include "symbols/find_function.h"

#define NESTED_MAX 32 /* namespaces and classes; a deeper tree is damaged */

/* ---- symbols ----------------------------------------------------------------------- */

static bool section_has_function(Elf *elf, Elf_Scn *section, find_function_name *is, void *ctx)
{
	Elf_Data *data = NULL;
	GElf_Shdr head;
	GElf_Sym symbol;

	if (!gelf_getshdr(section, &head) ||
	    (head.sh_type != SHT_SYMTAB && head.sh_type != SHT_DYNSYM))
		return false;
	while ((data = elf_getdata(section, data)))
		for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
			unsigned int type = GELF_ST_TYPE(symbol.st_info);
			const char *name;

			if (symbol.st_shndx == SHN_UNDEF ||
			    (type != STT_FUNC && type != STT_GNU_IFUNC))
				continue;
			name = elf_strptr(elf, head.sh_link, symbol.st_name);
			if (name && is(ctx, name))
				return true;
		}
	return false;
}

bool find_function_symbol(int fd, find_function_name *is, void *ctx)
{
	Elf_Scn *section = NULL;
	bool found = false;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while (elf && !found && (section = elf_nextscn(elf, section)))
		found = section_has_function(elf, section, is, ctx);
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
