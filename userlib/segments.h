/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * segments.c, for the assembly files.  All are async-signal-safe and leave the state as it is, but
 * for where on the stack it is kept.  A position is the page's word of off and place; what place
 * says of the other half is ignored in it.
 */
#ifndef PCCE_USERLIB_SEGMENTS_H
#define PCCE_USERLIB_SEGMENTS_H

#include <stdint.h>
#include <pcce/abi.h>

#pragma GCC visibility push(hidden)

#define AREA_BYTES ((unsigned long)PCCE_AREA_SEGMENTS * sizeof(struct pcce_segment))

/* The current segment is full: begins the next one. */
void __pcce_segment_up(void);
/* It is empty, and there is one below: goes back to that. */
void __pcce_segment_down(void);
/* Makes room for two entries in the current segment. */
void __pcce_segment_room(void);
/* Cuts the stack down to a position that it was at, and that still stands. */
void __pcce_segment_return(uint64_t position);
/*
 * Towards a position in the segment below, from two entries above it. If they are the first ones of
 * their segment, the other half of the page holds the lower one from now on, and the caller
 * replaces the page's word by `to` if it is `from` still; else it asks once more. from 0: they are
 * in the lower segment, which is current now. Both 0: the current position is another.
 */
struct pcce_change {
	uint64_t from, to;
};
struct pcce_change __pcce_segment_below(uint64_t position);
/* __pcce_restore, from another segment. */
void __pcce_restore_far(uint64_t id, uint64_t position, uint64_t site);

/* Nothing is known of the stack any more, not even of what is below: id and all entries are lost.
 */
void __pcce_segment_lost(void);

#pragma GCC visibility pop

#endif
