/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Disassembles functions of an ELF file, with the lines of their source. */
#ifndef PCCE_SYMBOLS_ASSEMBLY_H
#define PCCE_SYMBOLS_ASSEMBLY_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct assembly_line { /* an instruction */
	uint64_t vaddr;
	const char *function; /* of the first instruction of a function: its name; else NULL */
	const char *file;     /* of the source; NULL: unknown, as if line is 0 */
	uint32_t line, size;
	char text[100]; /* in the syntax of AT&T and GNU as; cut off if it is longer */
};

struct assembly {
	struct assembly_line *lines;
	size_t n;
	struct Dwfl *dwfl; /* owns the strings */
};

/*
 * Reads all functions that hold one of n addresses, which are link-time addresses in ascending
 * order. With an id, the file must be of this build. Debug information is also looked for where
 * the system keeps it. Returns 0, or -errno with a sentence in why; -ENOENT: no symbol has any of
 * the addresses. The caller frees the result in any case.
 */
int assembly_read(const char *path, const uint8_t *id, size_t id_size, const uint64_t *vaddrs,
		  size_t n, struct assembly *to, struct error *why);
void assembly_free(struct assembly *a);

#endif
