/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds separate debug information by build id, in the places of distributions and of debuginfod's
 * clients.
 */
#ifndef PCCE_SYMBOLS_DEBUGINFO_H
#define PCCE_SYMBOLS_DEBUGINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

bool debuginfo_same_build_id(Elf *elf, const uint8_t *id, size_t size);

/*
 * Opens the debug file of this build. Returns a descriptor, with libelf's handle in *elf, or -1 if
 * the machine has no such file. Downloads nothing.
 */
int debuginfo_open(const uint8_t *id, size_t size, Elf **elf);

/*
 * Returns the path of a source file that a debuginfod client has fetched for this build, malloc'ed;
 * NULL: none.
 */
char *debuginfo_source(const uint8_t *id, size_t size, const char *path);

#endif
