// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Marks the state after a signal handler that makes the thread continue elsewhere: a garbage
 * collector that lets the thread call a function, or a handler that leaves a function that has
 * failed. Whatever is entered then, no slot has led there; see unknown.h.
 *
 * A handler that skips an instruction changes nothing that is known: an instruction has at most 15
 * bytes, and the slots of a call are so far apart that no other call begins or ends within these.
 */
#include "stack/unknown.h"

#define INSTRUCTION_MAX 15

/* Makes room for the two entries, and for what may come next. So that is in the same segment, and
 * pcce_on_context() finds it there. */
static void make_room_for_pair(void)
{
	if ((pcce_page.off & PCCE_OFF_USED) <= PCCE_OFF_FULL - 5 * sizeof(struct pcce_entry))
		return;
	while ((pcce_page.off & PCCE_OFF_USED) < PCCE_OFF_FULL - sizeof(struct pcce_entry))
		add_special(0, PCCE_COUNT_FILL << PCCE_SITE_BITS);
	__pcce_segment_room();
}

void __pcce_redirected(uint64_t ip, uint64_t sp, uint64_t new_ip, uint64_t new_sp)
{
	volatile struct pcce_entry *top = newest_of_page();

	if (new_sp == sp && new_ip - ip <= INSTRUCTION_MAX)
		return;
	/* With more than a return address, frames were removed. */
	if (new_sp > sp + sizeof(new_sp))
		sp = UNKNOWN_FOR_GOOD;
	if (page_stays_shared())
		return;
	/* A program may do this for ever in one call. */
	if (pcce_page.off & PCCE_OFF_USED && is_unknown_kind(top->site)) {
		if (top->id < sp)
			top->id = sp;
		return;
	}
	make_room_for_pair();
	add_special(0, UNKNOWN_FIRST);
	add_special(sp, UNKNOWN_SECOND);
}
