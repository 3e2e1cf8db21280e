/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The context in which a thread was created, from its creator's page to its own: see
 * PCCE_COUNT_ORIGIN in abi.h. */
#ifndef PCCE_USERLIB_ORIGIN_H
#define PCCE_USERLIB_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/abi.h>

#pragma GCC visibility push(hidden)

struct origin {
	uint64_t id, ext;
	uint64_t total; /* entries that the creator had, as far down as the newest origin among them
			 */
	uint32_t n;	/* the newest of them, oldest first: */
	const struct pcce_entry *entries;
	bool known;
};

/* How many entries the calling thread's origin_take() needs room for, at most. */
uint32_t origin_room(void);
/* The calling thread's context, with up to room entries. */
void origin_take(struct origin *o, struct pcce_entry *entries, uint32_t room);
/* Puts it below the calling thread's encoding stack, which is empty, before its page is announced.
 */
void origin_enter(const struct origin *o);

#pragma GCC visibility pop

#endif
