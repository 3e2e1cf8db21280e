/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the complete segments of the calling thread's encoding stack, for context_id.c and
 * contexts/capture.c. include/pcce/abi.h says where they are. What segment_known() and segment_at()
 * return is valid while signals are blocked.
 */
#ifndef PCCE_USERLIB_SEGMENTS_BELOW_H
#define PCCE_USERLIB_SEGMENTS_BELOW_H

#include <stdbool.h>
#include <stdint.h>
#include "stack/page.h"

/* Slots write only the lower half of ext. A load of both would have to wait for that store. */
static inline uint64_t page_ext(void)
{
	const volatile __u32 *half = (const volatile __u32 *)&pcce_page.ext;
	uint32_t low = half[0];

	return low | (uint64_t)half[1] << 32;
}

/* Is there anything on the encoding stack? */
static inline bool page_has_entries(void)
{
	return *(const volatile __u32 *)&pcce_page.off || *(const volatile __u32 *)&pcce_page.place;
}

struct segments_below {
	uint32_t n;		       /* complete segments */
	uint64_t generation;	       /* of the newest of them */
	const struct pcce_entry *kept; /* the base of the newest one, in the page; or NULL */
	const struct pcce_segment *area;
	uint32_t n_area;
};

/* Without reading the area. False: there is none. */
static inline bool segments_below_read(struct segments_below *s)
{
	const struct pcce_entry *bases = &pcce_page.base;
	uint32_t half = (pcce_page.off & PCCE_OFF_HALF) / sizeof(*bases),
		 place = *(const volatile __u32 *)&pcce_page.place;
	uint64_t area = *(const volatile __u64 *)&pcce_page.area;

	s->n = place >> PCCE_PLACE_SHIFT;
	s->generation = bases[half].id;
	s->kept = (place & PCCE_PLACE_HELD) == PCCE_PLACE_KEPT
			  ? bases + (half ^ PCCE_OFF_HALF / sizeof(*bases))
			  : NULL;
	s->area = (const struct pcce_segment *)(uintptr_t)PCCE_AREA_ADDRESS(area);
	s->n_area = PCCE_AREA_CAPACITY(area);
	return s->n != 0;
}

/* The base of the k-th segment below the current one, without any check. */
static inline const struct pcce_entry *segment_at(const struct segments_below *s, uint32_t k)
{
	return !k && s->kept ? s->kept : &s->area[s->n - 1 - k].base;
}

/* The base of the k-th segment below the current one, if that segment has this generation. Else
 * NULL. */
static inline const struct pcce_entry *segment_known(const struct segments_below *s, uint32_t k,
						     uint64_t generation)
{
	uint32_t index = s->n - 1 - k;

	if (!k && s->kept)
		return s->kept;
	if (!generation || index >= s->n_area || s->area[index].generation != generation)
		return NULL;
	return &s->area[index].base;
}

#endif
