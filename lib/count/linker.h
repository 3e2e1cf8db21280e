/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds where the dynamic linker of a program tells debuggers of its libraries. */
#ifndef PCCE_COUNT_LINKER_H
#define PCCE_COUNT_LINKER_H

#include <stddef.h>
#include <stdint.h>

/* Link-time addresses in the dynamic linker. 0: the program has none, or an unknown one. */
struct count_linker {
	uint64_t state; /* the function _dl_debug_state() */
	uint64_t debug; /* _r_debug */
};

void count_linker_find(const uint8_t *program, size_t size, struct count_linker *out);

#endif
