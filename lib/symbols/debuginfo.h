/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds separate debug information by build id, in the places of distributions and of debuginfod's
 * clients, and by the name that a stripped file has of it (.gnu_debuglink).
 */
#ifndef PCCE_SYMBOLS_DEBUGINFO_H
#define PCCE_SYMBOLS_DEBUGINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

/*
 * Returns the i-th cache folder of debuginfod's clients, malloc'ed; NULL: its variable is not set.
 */
#define DEBUGINFO_CACHES 4
char *debuginfo_cache(unsigned int i);

bool debuginfo_same_build_id(Elf *elf, const uint8_t *id, size_t size);

/*
 * Opens the debug file of this build. Returns a descriptor, with libelf's handle in *elf, or -1 if
 * the machine has no such file. Downloads nothing.
 */
int debuginfo_open(const uint8_t *id, size_t size, Elf **elf);

/*
 * Opens the debug file whose name is in an ELF file: beside it, in .debug beside it, or in the same
 * folder below /usr/lib/debug. fd and elf are of the ELF file. Returns a descriptor, with libelf's
 * handle in *debug, or -1 if there is no such file, or it is of another build.
 */
int debuginfo_open_link(int fd, Elf *elf, Elf **debug);

/*
 * Returns the path of a source file that a debuginfod client has fetched for this build, malloc'ed;
 * NULL: none.
 */
char *debuginfo_source(const uint8_t *id, size_t size, const char *path);

#endif
