/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Separate debug information, by build id, where distributions and debuginfod's clients put it. */
#ifndef PCCE_SYMBOLS_DEBUGINFO_H
#define PCCE_SYMBOLS_DEBUGINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

bool debuginfo_same_build_id(Elf *elf, const uint8_t *id, size_t size);

/* The debug file of this very build: a descriptor, and the file in *elf; -1: there is none. Nothing
 * is downloaded. */
int debuginfo_open(const uint8_t *id, size_t size, Elf **elf);

/* A source file that a debuginfod client has fetched for this build; NULL: none. malloc'ed. */
char *debuginfo_source(const uint8_t *id, size_t size, const char *path);

#endif
