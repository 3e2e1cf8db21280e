/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds where a breakpoint or a probe sees every call of a function: behind its entry slot, which
 * most direct calls skip (docs/slots.md). */
#ifndef PCCE_PROBE_PLACE_H
#define PCCE_PROBE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct probe_place {
	const char *path;   /* of the file */
	const char *symbol; /* as the linker knows the function */
	uint32_t offset;    /* from there */
	bool indirect;	    /* the symbol is that of a resolver (STT_GNU_IFUNC) */
	uint64_t address;   /* link-time address of the place */
};

typedef void probe_found(void *ctx, const struct probe_place *place);

/*
 * Calls found() for each function of the file with this name: as the linker knows it, with or
 * without a suffix such as .constprop.0, or demangled with or without parameters. Of a function
 * that is not instrumented, the place is its symbol. Returns the number of functions, or -errno
 * with a fragment that continues the path.
 */
int probe_find(const char *path, const char *function, probe_found *found, void *ctx,
	       struct error *why);

/* Does a function with this assembler name have the name that probe_find() is given? */
bool probe_is_named(const char *symbol, const char *name);

/* Lists functions of the file whose names are similar. */
void probe_find_similar(const char *path, const char *function, char *list, size_t size);

#endif
