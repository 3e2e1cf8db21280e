/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the landings that are under way, for landing.c, landing_pending.c and landing_stubs.S.
 */
#ifndef PCCE_USERLIB_LANDING_H
#define PCCE_USERLIB_LANDING_H

#define LANDINGS 64	/* most landings at a time */
#define LANDING_STUB 18 /* bytes of a stub */
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

#pragma GCC visibility push(hidden)

/* landing_pending.c. A stub of landing_stubs.S works on the element that has its number. */
extern struct landing __pcce_landings[LANDINGS];
/* Takes a free landing. NULL: LANDINGS of them are under way. Async-signal-safe. */
struct landing *__pcce_landing_claim(void);
/* For the stub with this number: restores the encoding stack, and frees the landing. Returns the
 * landing pad. Async-signal-safe. */
uint64_t __pcce_landing_finish(unsigned int i);

#pragma GCC visibility pop
#endif

#endif
