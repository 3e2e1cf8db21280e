/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines how the current segment of the encoding stack changes, for segments.c and restore_far.c.
 * include/pcce/abi.h says what segments are.
 *
 * A sampler may read after every instruction. A signal handler may interrupt, push and pop many
 * entries, and leave the stack as it was. Therefore
 *
 *  - the current segment changes in one store, when all that it leads to is in place;
 *  - a handler that went up and down again has written to the other half, and place then says that
 *    nothing is held there.
 *
 * So a copy out of the other half checks after each load that what was loaded was still there. What
 * relies on the other half counts only if place still says the same of it at the end: one cmpxchg.
 * Neither instruction needs a lock prefix, since no other thread writes here.
 *
 * All functions are inline: in restore_far.c the instruction pointer tells what is being done.
 */
#ifndef PCCE_USERLIB_SEGMENT_MOVES_H
#define PCCE_USERLIB_SEGMENT_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include "stack/page.h"
#include "stack/segments.h"
#include "base/confined.h"
#include "base/syscall.h"

#define MOVE static inline __attribute__((always_inline, unused))

#define BASE_AND_ENTRIES ((PCCE_SEGMENT_ENTRIES + 1) * 2) /* words */

#define RECORD_WORDS 4 /* of the record of a jump: see PCCE_COUNT_JUMP */

MOVE uint64_t word_of(uint32_t off, uint32_t number, uint32_t held)
{
	return off | (uint64_t)(number << PCCE_PLACE_SHIFT | held) << 32;
}

MOVE volatile __u64 *position_word(void)
{
	return (volatile __u64 *)&pcce_page.position;
}

/* Replaces the current word, unless a handler has changed it. False: it has. */
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

/* Returns the base of the half that begins at this off. */
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

MOVE struct pcce_segment *area_segments(uint64_t area)
{
	return (struct pcce_segment *)(uintptr_t)PCCE_AREA_ADDRESS(area);
}

/* Maps an area with at least this many places, empty: a value of pcce_page.area. 0: there is no
 * memory, or no area is so large. */
MOVE uint64_t new_area(uint32_t places)
{
	uint64_t log = AREA_LOG_MIN;
	void *area;

	while (1u << log < places)
		log++;
	if (1u << log > PCCE_AREA_SEGMENTS)
		return 0;
	area = raw_mmap(NULL, area_bytes(log), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(area))
		return 0;
	/* Place 0 may remain unused, but samplers read it. */
	*(volatile __u64 *)area = 0;
	return (uint64_t)(uintptr_t)area | log;
}

/* Returns a number that is higher than all generations so far: the time, or where it must not be
 * asked for, the number of clock cycles. A program in seccomp's strict mode cannot read either. */
MOVE uint64_t first_generation(void)
{
	struct timespec now;

	if (is_confined(CONFINED_STRICT))
		return 1ULL << 62;
	if (is_confined(CONFINED))
		return __builtin_ia32_rdtsc();
	if (raw_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC, &now) < 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Generations begin with the time, so they differ from those of an earlier thread with the same
 * number. */
MOVE uint64_t next_generation(void)
{
	uint64_t generation = 1;

	if (!pcce_page.generation)
		pcce_page.generation = first_generation();
	__asm__ volatile("xaddq %1, %0"
			 : "+m"(pcce_page.generation), "+r"(generation)
			 :
			 : "cc", "memory");
	return generation + 1;
}

/* Returns the segment's place in the area; NULL if it has none. */
MOVE struct pcce_segment *stored_segment(uint32_t number)
{
	uint64_t area = pcce_page.area;

	return number < PCCE_AREA_CAPACITY(area) ? area_segments(area) + number : NULL;
}

/* Copies the segment below the current one, which the other half keeps, to the area. */
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

/* Fills a half for a segment that was not kept. */
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
 * Moves from the current segment to the one below, of which `used` bytes of entries are left. If
 * site is not NULL, it becomes the site of the top entry. The copy in the area belongs to its
 * generation. So this may change only the segment in the page, and only while place does not say
 * that it is held there.
 */
MOVE void move_down(uint32_t used, const uint64_t *site)
{
	uint64_t word = *position_word(), filling, final;
	uint32_t number = segment_number(word) - 1;
	volatile __u64 *to = page_half(start_of_half(number));
	bool there = held_kind(word) == PCCE_PLACE_KEPT, write = site && used;

	filling = word_of((uint32_t)word, number + 1, PCCE_PLACE_FILLING);
	final = word_of(start_of_half(number) + used, number, 0);
	/* Usually the count has not grown, and the site is right. */
	if (there && (!write || to[used / sizeof(*to) + 1] == *site)) {
		if (replace_current(word, final))
			return;
		there = false;
	} else if (there) {
		store_kept(word);
		there = replace_current(word, filling);
	}
	do {
		if (!there) {
			*position_word() = filling;
			fill_half(to, number);
		}
		there = false;
		if (write)
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
 * Moves from the current segment to a lower one: the target's upper neighbour, or the one above
 * that. Of these it takes the lowest that the other half has room for, which must be below the
 * current one. The segment becomes empty, except for the record of a jump that is on top here. It
 * holds no live entry of the stack.
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
 * Cuts the stack down to a position in another segment that it was at before, and that is still on
 * it. False if it is not. The record of a jump on top stays there until the end.
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
