/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the transfer of the context in which a thread was created, from its creator's page to
 * its own: see PCCE_COUNT_ORIGIN in abi.h. */
#ifndef PCCE_USERLIB_ORIGIN_H
#define PCCE_USERLIB_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/abi.h>

#pragma GCC visibility push(hidden)

struct origin {
	uint64_t id, ext;
	/* Entries that the creator had, down to the newest origin among them. */
	uint64_t total;
	uint32_t n; /* number of the newest ones, which are here, oldest first */
	const struct pcce_entry *entries;
	bool known;
};

/* Returns the most entries that the calling thread's origin_take() can give. */
uint32_t origin_room(void);
/* Takes the calling thread's context, with up to room entries. o->entries points into entries. */
void origin_take(struct origin *o, struct pcce_entry *entries, uint32_t room);
/* Puts the context below the calling thread's encoding stack, which must be empty, before its page
 * is announced. */
void origin_enter(const struct origin *o);

#pragma GCC visibility pop

#endif
