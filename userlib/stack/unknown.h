/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Marks a state that no instruction of a slot has led to: PCCE_COUNT_UNKNOWN and PCCE_COUNT_SHARED
 * of include/pcce/abi.h.
 *
 * All functions are async-signal-safe. An entry is claimed before it is filled, as in a push.
 */
#ifndef PCCE_USERLIB_UNKNOWN_H
#define PCCE_USERLIB_UNKNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include "stack/page.h"
#include "stack/segments.h"

/* The two entries. */
#define UNKNOWN_FIRST (PCCE_COUNT_UNKNOWN << PCCE_SITE_BITS | 1)
#define UNKNOWN_SECOND (PCCE_COUNT_UNKNOWN << PCCE_SITE_BITS | 2)
/* The sp of an entry that no pop removes. */
#define UNKNOWN_FOR_GOOD (~0ULL)

#pragma GCC visibility push(hidden)

/* pushpop.S: the program pops with such an entry on top. `end` names the slot. True: the entry was
 * of no use any more, and the call's own entry is on top now. */
bool __pcce_unknown_pop(uint64_t end, uint64_t sp);
/* Calls are left without a pop in a shared page. Returns true. */
bool __pcce_unknown_left(void);
/* signal_entry.S: a handler has changed the interrupted instruction pointer or stack pointer. The
 * state is still that of the interrupted code. */
void __pcce_redirected(uint64_t ip, uint64_t sp, uint64_t new_ip, uint64_t new_sp);

#pragma GCC visibility pop

static inline volatile struct pcce_entry *newest_of_page(void)
{
	return (volatile struct pcce_entry *)((char *)&pcce_page.base +
					      *(volatile __u32 *)&pcce_page.off);
}

static inline bool is_unknown_kind(uint64_t site)
{
	uint64_t kind = site >> PCCE_SITE_BITS;

	return kind == PCCE_COUNT_UNKNOWN || kind == PCCE_COUNT_SHARED;
}

/* Puts an entry into the current segment, which has room for it. */
static inline void add_special(uint64_t id, uint64_t site)
{
	volatile struct pcce_entry *e = newest_of_page() + 1;

	/* Until it is stored, the entry is what was there before: no sample there is decodable. */
	__asm__ volatile("	addl $16, %0\n"
			 "1:	movq %3, %1\n"
			 "	movq %4, %2\n"
			 "2:\n"
			 "	.pushsection .pcce_helpers, \"R\", @progbits\n"
			 "	.quad 1b\n"
			 "	.long 2b - 1b\n"
			 "	.long 5\n" /* PCCE_HELPER_HANDLER */
			 "	.popsection"
			 : "+m"(pcce_page.off), "=m"(e->id), "=m"(e->site)
			 : "r"(id), "r"(site)
			 : "cc", "memory");
}

static inline bool page_is_shared(void)
{
	return *(volatile __u32 *)&pcce_page.state & PCCE_STATE_SHARED;
}

/* For what would leave calls without a pop, or change more than a pop. In a shared page it must do
 * nothing. If it was not the other task, the state remains unknown for good. */
static inline bool page_stays_shared(void)
{
	return page_is_shared() && __pcce_unknown_left();
}

#endif
