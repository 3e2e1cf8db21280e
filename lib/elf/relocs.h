/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads a module's dynamic symbols and relocations. They say which functions the GOT slots lead to,
 * which functions are exported, and which addresses the loader writes.
 */
#ifndef PCCE_ELF_RELOCS_H
#define PCCE_ELF_RELOCS_H

#include "elf/module.h"

struct elf_got_slot {
	uint64_t addr;
	/*
	 * the symbol that the loader resolves; NULL: the slot holds target, or, with target 0, the
	 * result of an ifunc resolver
	 */
	const char *name;
	uint64_t target;
	/*
	 * with a name: the function that this module itself defines under that name and version; 0:
	 * none, or not known before run time (ifunc)
	 */
	uint64_t own;
	bool ifunc; /* with a name: this module's resolver chooses the function */
};

struct elf_relocs {
	struct elf_got_slot *slots; /* ordered by address */
	size_t n_slots;
	uint64_t *exports; /* addresses of defined dynamic symbols */
	size_t n_exports;
	uint64_t *taken; /* addresses that relocations write, ifunc resolvers */
	size_t n_taken;
};

int elf_relocs_read(const struct elf_module *m, struct elf_relocs *out, struct error *why);
void elf_relocs_free(struct elf_relocs *l);
/* Finds what the pointer at addr holds at run time. False: not known. */
bool elf_relocs_slot(const struct elf_relocs *l, const struct elf_module *m, uint64_t addr,
		     struct elf_got_slot *out);

#endif
