/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How the current segment of the encoding stack changes, for segments.c and restore_far.c:
 * include/pcce/abi.h says what segments are.
 *
 * A sampler may look after every instruction, and a signal handler may come in between, push and
 * pop many entries, and leave the stack as it was.  Therefore
 *
 *  - what is current changes in one store, when all it leads to is in place;
 *  - a handler that went up and down again has written to the other half, and place then says that
 * nothing is held there.  So a copy out of the other half asks after each load whether what was
 * loaded had still been there, and what relies on the other half counts only if place still says
 * the same of it at the end: one cmpxchg. Neither instruction needs a lock prefix, since no other
 * thread writes here.
 *
 * Inline, all of it: in restore_far.c the instruction pointer tells what is being done.
 */
#ifndef PCCE_USERLIB_SEGMENT_MOVES_H
#define PCCE_USERLIB_SEGMENT_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include "page.h"
#include "segments.h"
#include "syscall.h"

#define MOVE static inline __attribute__((always_inline, unused))

#define BASE_AND_ENTRIES ((PCCE_SEGMENT_ENTRIES + 1) * 2) /* words */

#define RECORD_WORDS 4 /* of a jump: see PCCE_COUNT_JUMP */

MOVE uint64_t word_of(uint32_t off, uint32_t number, uint32_t held)
{
	return off | (uint64_t)(number << PCCE_PLACE_SHIFT | held) << 32;
}

MOVE volatile __u64 *position_word(void)
{
	return (volatile __u64 *)&pcce_page.position;
}

/* Unless a handler has changed what there was. */
MOVE bool replace_current(uint64_t word, uint64_t by)
{
	uint64_t seen = word;

	__asm__ volatile("cmpxchgq %2, %0"
			 : "+m"(*position_word()), "+a"(seen)
			 : "r"(by)
			 : "cc", "memory");
	return seen == word;
}

MOVE uint32_t start_of_half(uint32_t number)
{
	return number & 1 ? PCCE_OFF_HALF : 0;
}

/* The base of the half that begins at this off. */
MOVE volatile __u64 *page_half(uint32_t start)
{
	return (volatile __u64 *)((char *)&pcce_page.base + start);
}

MOVE uint32_t segment_number(uint64_t word)
{
	return (uint32_t)(word >> 32) >> PCCE_PLACE_SHIFT;
}

MOVE uint32_t held_kind(uint64_t word)
{
	return (uint32_t)(word >> 32) & PCCE_PLACE_HELD;
}

/* Room for all segments, untouched; NULL: none is to be had. */
MOVE struct pcce_segment *new_area(void)
{
	void *area = raw_mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return raw_failed(area) ? NULL : area;
}

/* Generations begin with the time, so that they differ from those of an earlier thread with the
 * same number. */
MOVE uint64_t next_generation(void)
{
	uint64_t generation = 1;
	struct timespec now;

	if (!pcce_page.generation && raw_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0)
		pcce_page.generation = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	__asm__ volatile("xaddq %1, %0"
			 : "+m"(pcce_page.generation), "+r"(generation)
			 :
			 : "cc", "memory");
	return generation + 1;
}

/* The place in the area; NULL if there is none. */
MOVE struct pcce_segment *stored_segment(uint32_t number)
{
	struct pcce_segment *area = (struct pcce_segment *)(uintptr_t)pcce_page.area;

	return area && number < PCCE_AREA_SEGMENTS ? area + number : NULL;
}

/* The segment below the current one, which the other half keeps, into the area. */
MOVE void store_kept(uint64_t word)
{
	uint32_t number = segment_number(word) - 1;
	const volatile __u64 *from = page_half(start_of_half(number));
	struct pcce_segment *s = stored_segment(number);
	volatile __u64 *to;

	if (!s)
		return;
	to = (volatile __u64 *)&s->base;
	for (unsigned int i = 0; i < BASE_AND_ENTRIES; i += 2) {
		uint64_t first = from[i], second = from[i + 1];

		if (held_kind(*position_word()) != PCCE_PLACE_KEPT)
			return;
		to[i] = first;
		to[i + 1] = second;
	}
	s->index = number;
	*(volatile __u64 *)&s->generation = *page_half(start_of_half(number + 1));
}

/* What was not kept. */
MOVE void fill_lost(volatile __u64 *to, uint32_t number)
{
	const struct pcce_segment *below = number ? stored_segment(number - 1) : NULL;

	to[0] = below ? below->generation : 0;
	to[1] = PCCE_MARK_WORD;
	for (unsigned int i = 2; i < BASE_AND_ENTRIES; i += 2) {
		to[i] = PCCE_ID_LOST;
		to[i + 1] = 0;
	}
}

MOVE void fill_half(volatile __u64 *to, uint32_t number)
{
	const struct pcce_segment *s = stored_segment(number);

	if (s && s->generation) {
		const volatile __u64 *from = (const volatile __u64 *)&s->base;

		for (unsigned int i = 0; i < BASE_AND_ENTRIES; i++)
			to[i] = from[i];
	} else {
		fill_lost(to, number);
	}
}

/*
 * From the current segment to the one below, of which so many bytes of entries are left. site, if
 * there is any: what the top entry's has to be. The copy in the area goes by the name that it has,
 * so this may change only the one in the page, and only while nothing says that it is held there.
 */
MOVE void move_down(uint32_t used, const uint64_t *site)
{
	uint64_t word = *position_word(), filling, final;
	uint32_t number = segment_number(word) - 1;
	volatile __u64 *to = page_half(start_of_half(number));
	bool there = held_kind(word) == PCCE_PLACE_KEPT;

	filling = word_of((uint32_t)word, number + 1, PCCE_PLACE_FILLING);
	final = word_of(start_of_half(number) + used, number, 0);
	if (there && site && used)
		store_kept(word);
	if (there)
		there = replace_current(word, site && used ? filling : final);
	if (there && !(site && used))
		return;
	do {
		if (!there) {
			*position_word() = filling;
			fill_half(to, number);
		}
		there = false;
		if (site && used)
			to[used / sizeof(*to) + 1] = *site;
	} while (!replace_current(filling, final));
}

MOVE bool has_record(uint64_t word)
{
	uint32_t used = (uint32_t)word & PCCE_OFF_USED;
	const volatile __u64 *top =
		page_half(start_of_half(segment_number(word))) + used / sizeof(*top);

	return used >= RECORD_WORDS * sizeof(*top) &&
	       top[1] >> PCCE_SITE_BITS == PCCE_COUNT_JUMP2 &&
	       top[-1] >> PCCE_SITE_BITS == PCCE_COUNT_JUMP;
}

/*
 * From the current segment to one that is further down, at least two above the target, or the one
 * above it: to the lowest of these that the other half has room for, which must be below. It
 * becomes empty, but for the record of a jump that is on top here. Nothing that is left of the
 * stack is in it.
 */
MOVE void move_far_down(uint32_t target)
{
	uint64_t word = *position_word(), filling, final;
	uint32_t number = segment_number(word), above = target + 1 + !((number - target - 1) & 1);
	volatile __u64 *to = page_half(start_of_half(above));
	const volatile __u64 *from = page_half(start_of_half(number)) +
				     ((uint32_t)word & PCCE_OFF_USED) / sizeof(*from) + 2;
	bool record = has_record(word);

	filling = word_of((uint32_t)word, number, PCCE_PLACE_FILLING);
	final = word_of(start_of_half(above) + (record ? RECORD_WORDS * sizeof(*to) : 0), above, 0);
	if (held_kind(word) == PCCE_PLACE_KEPT)
		store_kept(word);
	do {
		const struct pcce_segment *s = stored_segment(above - 1);

		*position_word() = filling;
		to[0] = s ? s->generation : 0;
		to[1] = PCCE_MARK_WORD;
		for (int i = 0; record && i < RECORD_WORDS; i++)
			to[2 + i] = from[i - RECORD_WORDS];
	} while (!replace_current(filling, final));
}

/*
 * Cuts the stack down to a position in another segment that it was at, and that still stands; false
 * if it does not. If there is the record of a jump on top it stays there until the end.
 */
MOVE bool move_back(uint64_t position, const uint64_t *site)
{
	uint32_t target = segment_number(position), used = (uint32_t)position & PCCE_OFF_USED;

	if (segment_number(*position_word()) <= target || used > PCCE_OFF_FULL)
		return false;
	while (segment_number(*position_word()) > target + 1)
		move_far_down(target);
	move_down(used, site);
	return true;
}

#endif
