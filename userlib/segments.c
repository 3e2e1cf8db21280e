// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * From one segment of the encoding stack to the next: include/pcce/abi.h says what segments are.
 *
 * Called from the middle of a push or pop, at any place of the program and in any of its
 * signal handlers: no C library, no errno, no vector registers (the build says
 * -mgeneral-regs-only), no lock.  It also stands in every instrumented shared
 * library, so it must not use anything of the rest of the runtime.
 *
 * A sampler may look after every instruction, and a signal handler may come in between, push and pop
 * many entries, and leave the stack as it was.  Therefore
 *
 *  - what is current changes in one store (set_current), when all it leads to is in place;
 *  - a handler that went up and down again has written to the other half, and place then says that nothing
 *    is held there.  So a copy out of the other half asks after each load whether what was loaded had still been
 *    there, and a copy into it counts only if FILLING still stands at the end: one cmpxchg.  Neither
 *    instruction needs a lock prefix, since no other thread writes here.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>
#include "segments.h"
#include "syscall.h"

extern __thread struct pcce_page pcce_page __attribute__((tls_model("initial-exec")));

#define BASE_AND_ENTRIES ((PCCE_SEGMENT_ENTRIES + 1) * 2) /* words */

/* An even number of segments below the current one that no stack reaches. */
#define NUMBER_LOST (1u << 29)

static uint64_t word_of(uint32_t off, uint32_t number, uint32_t held)
{
	return off | (uint64_t)(number << PCCE_PLACE_SHIFT | held) << 32;
}

static volatile __u64 *current(void)
{
	return (volatile __u64 *)&pcce_page.position;
}

static uint32_t start_of_half(uint32_t number)
{
	return number & 1 ? PCCE_OFF_HALF : 0;
}

/* The base of the half that begins at this off. */
static volatile __u64 *half(uint32_t start)
{
	return (volatile __u64 *)((char *)&pcce_page.base + start);
}

static uint32_t number_of(uint64_t word)
{
	return (uint32_t)(word >> 32) >> PCCE_PLACE_SHIFT;
}

static uint32_t held(uint64_t word)
{
	return (uint32_t)(word >> 32) & PCCE_PLACE_HELD;
}

/* Generations begin with the time, so that they differ from those of an earlier thread with the same number. */
static void reserve(void)
{
	uint64_t expected = 0;
	struct timespec now;
	void *area;

	area = raw_mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (raw_failed(area))
		return;
	if (!pcce_page.generation && raw_syscall2(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0)
		pcce_page.generation = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	__asm__ volatile("cmpxchgq %2, %0"
			 : "+m"(pcce_page.area), "+a"(expected)
			 : "r"((uint64_t)(unsigned long)area)
			 : "cc", "memory");
	if (expected != 0)
		raw_syscall2(SYS_munmap, area, AREA_BYTES);
}

/* The place in the area; NULL if there is none. */
static struct pcce_segment *stored(uint32_t number)
{
	struct pcce_segment *area = (struct pcce_segment *)(uintptr_t)pcce_page.area;

	return area && number < PCCE_AREA_SEGMENTS ? area + number : NULL;
}

/* The segment below the current one, which the other half keeps, into the area. */
static void store_kept(uint64_t word)
{
	uint32_t number = number_of(word) - 1;
	const volatile __u64 *from = half(start_of_half(number));
	struct pcce_segment *s = stored(number);
	volatile __u64 *to;

	if (!s)
		return;
	to = (volatile __u64 *)&s->base;
	for (unsigned int i = 0; i < BASE_AND_ENTRIES; i += 2) {
		uint64_t first = from[i], second = from[i + 1];

		if (held(*current()) != PCCE_PLACE_KEPT)
			return;
		to[i] = first;
		to[i + 1] = second;
	}
	s->index = number;
	*(volatile __u64 *)&s->generation = *half(start_of_half(number + 1));
}

void __pcce_segment_up(void)
{
	uint64_t word = *current(), generation = 1;
	uint32_t number = number_of(word), off = (uint32_t)word;
	uint32_t above = start_of_half(number + 1);
	volatile __u64 *base = half(above);

	if (!pcce_page.area)
		reserve();
	if (held(word) == PCCE_PLACE_KEPT)
		store_kept(word);
	*current() = word_of(off, number, 0);
	__asm__ volatile("xaddq %1, %0" : "+m"(pcce_page.generation), "+r"(generation) : : "cc", "memory");
	base[0] = generation + 1;
	base[1] = PCCE_MARK_WORD;
	*current() = word_of(above, number + 1, PCCE_PLACE_KEPT);
}

/* What was not kept. */
static void fill_lost(volatile __u64 *to, uint32_t number)
{
	const struct pcce_segment *below = number ? stored(number - 1) : NULL;

	to[0] = below ? below->generation : 0;
	to[1] = PCCE_MARK_WORD;
	for (unsigned int i = 2; i < BASE_AND_ENTRIES; i += 2) {
		to[i] = PCCE_ID_LOST;
		to[i + 1] = 0;
	}
}

void __pcce_segment_down(void)
{
	uint64_t word = *current(), filling, full, seen;
	uint32_t number = number_of(word), off = (uint32_t)word;
	uint32_t below = start_of_half(number - 1);
	volatile __u64 *to = half(below);

	full = word_of(below + PCCE_OFF_FULL, number - 1, 0);
	if (held(word) == PCCE_PLACE_KEPT) {
		*current() = full;
		return;
	}
	filling = word_of(off, number, PCCE_PLACE_FILLING);
	do {
		const struct pcce_segment *s = stored(number - 1);

		*current() = filling;
		if (s && s->generation) {
			const volatile __u64 *from = (const volatile __u64 *)&s->base;

			for (unsigned int i = 0; i < BASE_AND_ENTRIES; i++)
				to[i] = from[i];
		} else {
			fill_lost(to, number - 1);
		}
		seen = filling;
		__asm__ volatile("cmpxchgq %2, %0" : "+m"(*current()), "+a"(seen) : "r"(full) : "cc", "memory");
	} while (seen != filling);
}

void __pcce_segment_room(void)
{
	struct pcce_page *page = &pcce_page;
	uint32_t used = page->off & PCCE_OFF_USED;

	if (used == PCCE_OFF_FULL - sizeof(struct pcce_entry)) {
		volatile struct pcce_entry *fill = (volatile struct pcce_entry *)((char *)page->entry + page->off);

		/* Claimed, then filled, as a push does: until then what lies there may be anything. */
		fill->site = PCCE_COUNT_FILL << PCCE_SITE_BITS;
		__asm__ volatile("addl $16, %0" : "+m"(page->off) : : "cc", "memory");
		fill->site = PCCE_COUNT_FILL << PCCE_SITE_BITS;
		used += sizeof(struct pcce_entry);
	}
	if (used == PCCE_OFF_FULL)
		__pcce_segment_up();
}

void __pcce_segment_return(uint64_t position)
{
	uint32_t target = number_of(position), used = (uint32_t)position & PCCE_OFF_USED;
	uint64_t word = *current();
	uint32_t number = number_of(word);

	if (number < target || used > PCCE_OFF_FULL)
		return; /* it does not stand */
	if (number > target) {
		/* All that is above the target goes; the segment after it becomes the current one, empty. */
		*(volatile __u32 *)&pcce_page.off = start_of_half(number);
		if (number > target + 1) {
			const struct pcce_segment *s = stored(target);
			uint32_t start = start_of_half(target + 1);
			volatile __u64 *base = half(start);

			*current() = word_of(start_of_half(number), number, 0);
			base[0] = s ? s->generation : 0;
			base[1] = PCCE_MARK_WORD;
			*current() = word_of(start, target + 1, 0);
		}
		__pcce_segment_down();
	}
	*(volatile __u32 *)&pcce_page.off = start_of_half(target) + used;
}

void __pcce_restore_far(uint64_t id, uint64_t position, uint64_t site)
{
	struct pcce_page *page = &pcce_page;

	__pcce_segment_return(position);
	*(volatile __u64 *)&page->id = id;
	if (page->off & PCCE_OFF_USED)
		*(volatile __u64 *)((char *)&page->base.site + page->off) = site;
}

/* The area that there was may be another stack's (contexts.c). One that a handler reserves meanwhile holds nothing. */
void __pcce_segment_lost(void)
{
	volatile __u64 *base = half(start_of_half(NUMBER_LOST));

	*(volatile __u64 *)&pcce_page.ext = PCCE_EXT_CHANGING;
	*(volatile __u64 *)&pcce_page.area = 0;
	base[0] = 0;
	base[1] = PCCE_MARK_WORD;
	*current() = word_of(start_of_half(NUMBER_LOST), NUMBER_LOST, 0);
	*(volatile __u64 *)&pcce_page.area = 0;
	*(volatile __u64 *)&pcce_page.id = PCCE_ID_LOST;
	*(volatile __u64 *)&pcce_page.ext = 0;
}
