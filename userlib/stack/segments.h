/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the moves between segments (segments.c), for the assembly files.
 *
 * All are async-signal-safe, and leave the state as it is; they change only where on the stack it
 * is kept. A position is the page's word of off and place. What place says of the other half is
 * ignored in it.
 */
#ifndef PCCE_USERLIB_SEGMENTS_H
#define PCCE_USERLIB_SEGMENTS_H

#include <stdint.h>
#include <pcce/abi.h>

#pragma GCC visibility push(hidden)

#define AREA_LOG_MIN 4 /* 16 segments: two pages of memory */

/* Bytes of an area with this logarithm of places. The last word is the area that it has replaced.
 */
static inline unsigned long area_bytes(uint64_t log)
{
	return (sizeof(struct pcce_segment) << (log & PCCE_AREA_LOG)) + sizeof(uint64_t);
}

static inline uint64_t *area_before(uint64_t area)
{
	return (uint64_t *)(uintptr_t)(PCCE_AREA_ADDRESS(area) + area_bytes(area)) - 1;
}

/* Begins the next segment; the current one is full. */
void __pcce_segment_up(void);
/* Returns to the segment below, which exists; the current one is empty. */
void __pcce_segment_down(void);
/* Makes room for two entries in the current segment. */
void __pcce_segment_room(void);
/* Cuts the stack down to a position that it was at before, and that is still on it. */
void __pcce_segment_return(uint64_t position);
/*
 * Prepares the move to a position in the segment below, from two entries above it. If these are the
 * first entries of their segment, the other half of the page holds the lower segment from now on.
 * Then the caller replaces the page's word by `to` if it is still `from`; otherwise it calls this
 * again. from 0: the entries are in the lower segment, which is current now. Both 0: the current
 * position is another one.
 */
struct pcce_change {
	uint64_t from, to;
};
struct pcce_change __pcce_segment_below(uint64_t position);
/* The part of __pcce_restore for another segment (restore_far.c). */
void __pcce_restore_far(uint64_t id, uint64_t position, uint64_t site);

/* Makes the whole stack unknown, also what is below: the id and all entries are lost. */
void __pcce_segment_lost(void);

#pragma GCC visibility pop

#endif
