/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds where a breakpoint or a probe sees every call of a function: behind its entry slot, which
 * most direct calls skip (docs/slots.md). */
#ifndef PCCE_CHECK_PROBE_H
#define PCCE_CHECK_PROBE_H

#include <stdint.h>
#include "base/error.h"

struct probe_place {
	const char *path;   /* of the file */
	const char *symbol; /* as the linker knows the function */
	uint32_t offset;    /* from there */
	uint64_t address;   /* link-time address of the place; 0: that of the symbol */
};

/*
 * Calls found() for each function of the file with this name: as the linker knows it, with or
 * without a suffix such as .constprop.0, or demangled with or without parameters. In a file that is
 * not encoded all calls go to the symbol, and only the name as given is looked for. Returns the
 * number of functions, or -errno with a fragment that continues the path.
 */
int probe_find(const char *path, const char *function,
	       void (*found)(const struct probe_place *place), struct error *why);

#endif
