/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Follows allocations until they are freed: live.c knows them, and ledger.c adds them up. Both take
 * no lock that they could wait for in vain, and call nothing of the program.
 */
#ifndef PCCE_USERLIB_LIVE_H
#define PCCE_USERLIB_LIVE_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/allocation.h>
#include <pcce/selfring.h>

#pragma GCC visibility push(hidden)

struct allocation {
	uint64_t bytes;	  /* the weight of its sample */
	uint32_t counter; /* 1 + the number of its context's counter; 0: it is not followed */
};

/* Makes room. sampled: few allocations are followed, and most frees are of others. */
void live_begin(bool sampled);
/* In a forked child: its parent's allocations are not its own. Returns whether the thread was in
 * the middle of one of these functions. */
int live_after_fork(void);
/* Returns false if the allocation cannot be followed. */
bool live_add(struct pcce_allocation_sums to, const void *p, struct allocation a);
/* Returns what was at p, without a counter if that is not known. */
struct allocation live_remove(struct pcce_allocation_sums from, const void *p);
/* Takes a lock, which is 1 while it is held. Returns false if its owner is lost: then nothing is
 * followed any more. In between, the same thread gets no lock. */
bool live_lock(struct pcce_allocation_sums of, uint32_t *lock);
void live_unlock(uint32_t *lock);
/* Counts an allocation of which nobody knows how long it is live. */
void live_lose(struct pcce_allocation_sums of);

void ledger_add(struct pcce_allocation_sums to, struct allocation a);
void ledger_subtract(struct pcce_allocation_sums from, struct allocation a, bool temporary);

#pragma GCC visibility pop

#endif
