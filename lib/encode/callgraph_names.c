/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Takes the names of functions from the linked file. A site record has the compiler's name, and
 * `objcopy --redefine-sym` renames a function between compiler and linker. Other modules call it by
 * its new name, and symbol tables show that one.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sites.h>
#include "encode/callgraph.h"

struct found_name {
	bool same;	  /* the function still has the name of its site record */
	const char *name; /* NULL: no symbol */
	unsigned char bind;
};

static void add_found_name(struct found_name *f, const char *of_record, const char *name,
			   unsigned char bind)
{
	if (!strcmp(name, of_record))
		f->same = true;
	if (!f->name || (f->bind == STB_LOCAL && bind != STB_LOCAL)) {
		f->name = name;
		f->bind = bind;
	}
}

static void read_names(const struct callgraph *cg, const struct elf_module *m,
		       struct found_name *found)
{
	const struct elf_section *symbols = elf_module_section(m, ".symtab", NULL),
				 *strings = elf_module_section(m, ".strtab", NULL);
	const uint8_t *data = symbols ? elf_module_contents(m, symbols) : NULL,
		      *names = strings ? elf_module_contents(m, strings) : NULL;

	for (uint64_t i = 0; data && names && i < symbols->size / sizeof(Elf64_Sym); i++) {
		Elf64_Sym sym;
		const char *name;
		uint32_t part, func;

		memcpy(&sym, data + i * sizeof(sym), sizeof(sym));
		if (ELF64_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_shndx == SHN_UNDEF)
			continue;
		part = callgraph_part_at(cg, sym.st_value);
		func = part == NUMBERING_NO_CALLEE ? part : cg->parts[part].func;
		if (func == NUMBERING_NO_CALLEE || cg->funcs[func].addr != sym.st_value)
			continue;
		name = elf_string(names, strings->size, sym.st_name);
		if (name && *name)
			add_found_name(&found[func], cg->funcs[func].name, name,
				       ELF64_ST_BIND(sym.st_info));
	}
}

int callgraph_name_functions(struct callgraph *cg, const struct elf_module *m)
{
	struct found_name *found = calloc(cg->n_funcs + 1, sizeof(*found));

	if (!found)
		return -ENOMEM;
	read_names(cg, m, found);
	/* A name with a version remains after `.symver`, and is no name of a call. */
	for (uint32_t i = 0; i < cg->n_funcs; i++)
		if (found[i].name && !found[i].same && !strchr(found[i].name, '@') &&
		    !(cg->funcs[i].block_flags & PCCE_BLOCK_GATE))
			cg->funcs[i].name = found[i].name;
	free(found);
	return 0;
}
