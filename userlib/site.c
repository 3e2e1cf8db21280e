// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * What ext names: is it the call that returns here?  For the functions that return twice, which
 * have a
 * __pcce_restore after them only where instrumented code calls them.
 */
#include <elf.h>
#include <sys/auxv.h>
#include "internal.h"

static uint64_t load_bias; /* of the executable, in whose file the addresses are that ext holds in
			      32 bits */

/* The program headers stand behind the ELF header, at the file's beginning: static PIE has no
 * PT_PHDR. */
__attribute__((constructor(101))) static void find_load_bias(void)
{
	const Elf64_Phdr *ph = (const Elf64_Phdr *)getauxval(AT_PHDR);
	unsigned long n = getauxval(AT_PHNUM);

	for (unsigned long i = 0; ph && i < n; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_offset == 0)
			load_bias = (uint64_t)ph - sizeof(Elf64_Ehdr) - ph[i].p_vaddr;
}

uint64_t __pcce_site_address(uint64_t ext)
{
	return ext >> 32 ? ext : ext + load_bias;
}

bool __pcce_from_site(uint64_t ext, uint64_t pc)
{
	return ext && pc - __pcce_site_address(ext) - 1 < 64;
}
