/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Goes through the symbols that an ELF file defines. */
#ifndef PCCE_SYMBOLS_ELF_SYMBOLS_H
#define PCCE_SYMBOLS_ELF_SYMBOLS_H

#include <gelf.h>
#include <stdbool.h>

/* Return true to end the search. The name is as the linker knows it. */
typedef bool elf_symbols_each(void *ctx, const char *name, const GElf_Sym *symbol);

/* Calls each() for the symbols of both tables, so for some of them twice. Whether it ended the
 * search. */
bool elf_symbols_search(Elf *elf, elf_symbols_each *each, void *ctx);
/* Searches the file that fd has open, then its debug file if there is one. */
bool elf_symbols_search_all(int fd, elf_symbols_each *each, void *ctx);

#endif
