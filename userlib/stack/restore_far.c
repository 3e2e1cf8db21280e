// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Restores the state when it is in another segment: a part of __pcce_restore (pushpop.S).
 *
 * All of it is PCCE_HELPER_RESTORING. The record of the jump that has led here stays on top, in
 * whichever segment is current. Then one store makes the state what the record says. So this code
 * must contain no call, and it needs -fno-toplevel-reorder.
 */
#include "stack/segment_moves.h"

__asm__("	.text\n"
	".Lbegin:");

void __pcce_restore_far(uint64_t id, uint64_t position, uint64_t site)
{
	*(volatile __u64 *)&pcce_page.id = id;
	move_back(position, &site);
}

__asm__(".Lend:\n"
	"	.pushsection .pcce_helpers, \"R\", @progbits\n"
	"	.quad .Lbegin\n"
	"	.long .Lend - .Lbegin\n"
	"	.long 3\n" /* PCCE_HELPER_RESTORING */
	"	.popsection");
