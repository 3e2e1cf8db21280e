// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Finds out whether a call is the one that ext names. Functions that return twice need this: only
 * instrumented callers have a __pcce_restore after them.
 */
#include <elf.h>
#include <sys/auxv.h>
#include "internal.h"

/* The executable's load bias, since ext holds addresses in its file in 32 bits. */
static uint64_t load_bias;

/* The program headers follow the ELF header, at the file's beginning. Static PIE has no PT_PHDR. */
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
