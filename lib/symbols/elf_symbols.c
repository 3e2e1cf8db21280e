/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See elf_symbols.h. */
#include <unistd.h>

#include "elf/module.h"
#include "symbols/debuginfo.h"
#include "symbols/elf_symbols.h"

static bool search_section(Elf *elf, Elf_Scn *section, elf_symbols_each *each, void *ctx)
{
	Elf_Data *data = NULL;
	GElf_Shdr head;
	GElf_Sym symbol;

	if (!gelf_getshdr(section, &head) ||
	    (head.sh_type != SHT_SYMTAB && head.sh_type != SHT_DYNSYM))
		return false;
	while ((data = elf_getdata(section, data)))
		for (int i = 0; gelf_getsym(data, i, &symbol); i++) {
			const char *name;

			if (symbol.st_shndx == SHN_UNDEF)
				continue;
			name = elf_strptr(elf, head.sh_link, symbol.st_name);
			if (name && each(ctx, name, &symbol))
				return true;
		}
	return false;
}

bool elf_symbols_search(Elf *elf, elf_symbols_each *each, void *ctx)
{
	Elf_Scn *section = NULL;

	while (elf && (section = elf_nextscn(elf, section)))
		if (search_section(elf, section, each, ctx))
			return true;
	return false;
}

static bool search_debug_file(int fd, Elf *elf, elf_symbols_each *each, void *ctx)
{
	struct elf_module m;
	Elf *debug = NULL;
	bool found;
	int file = -1;

	if (!elf_module_open_fd(fd, &m, NULL)) {
		file = debuginfo_open(m.build_id, m.build_id_size, &debug);
		elf_module_close(&m);
	}
	if (file < 0)
		file = debuginfo_open_link(fd, elf, &debug);
	if (file < 0)
		return false;
	found = elf_symbols_search(debug, each, ctx);
	elf_end(debug);
	close(file);
	return found;
}

bool elf_symbols_search_all(int fd, elf_symbols_each *each, void *ctx)
{
	bool found;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	found = elf_symbols_search(elf, each, ctx) ||
		(elf && search_debug_file(fd, elf, each, ctx));
	elf_end(elf);
	return found;
}
