/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What landing.c and landing_stubs.S share. */
#ifndef PCCE_USERLIB_LANDING_H
#define PCCE_USERLIB_LANDING_H

#define LANDINGS 64	/* that are under way at a time */
#define LANDING_STUB 32 /* bytes */
#define LANDING_BYTES 40
#define LANDING_CALL 8

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

struct landing {
	uint64_t pad;  /* the landing pad */
	uint64_t call; /* where the frame's call would have returned to: for unwinders */
	uint64_t position, word;
	uint32_t used;
};

_Static_assert(sizeof(struct landing) == LANDING_BYTES &&
		       offsetof(struct landing, call) == LANDING_CALL,
	       "landing_stubs.S");
#endif

#endif
