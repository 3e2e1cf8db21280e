// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Moves the encoding stack from one segment to the next. include/pcce/abi.h says what segments are.
 *
 * Pushes and pops call this, at any place of the program and in any of its signal handlers. So it
 * uses no C library, no errno, no vector registers (the build says -mgeneral-regs-only) and no
 * lock. Every instrumented shared library also contains it, so it must not use any other part of
 * the runtime.
 *
 * The area grows here, too. All that runs in this thread would find a place in the old area for
 * what it stores, or would replace the area as well. So signals wait meanwhile: a few system calls
 * whenever the stack is twice as deep as ever before.
 *
 * segment_moves.h says what samplers and signal handlers may see meanwhile.
 */
#include <signal.h>
#include "stack/segment_moves.h"
#include "stack/unknown.h"

/* An even number of segments that no stack has below its current one. */
#define NUMBER_LOST (1u << 29)

/* Words, and not memcpy(), which is not the runtime's own. */
static void copy_places(struct pcce_segment *to, const struct pcce_segment *from, uint32_t n)
{
	volatile __u64 *t = (volatile __u64 *)to;
	const __u64 *f = (const __u64 *)from;

	for (unsigned long i = 0; i < n * sizeof(*to) / sizeof(*t); i++)
		t[i] = f[i];
}

/* Makes room for this many segments, if there is memory. */
__attribute__((noinline, cold)) static void grow_area(uint32_t places)
{
	const uint64_t all = ~0ULL;
	uint64_t before, old, new;

	/* The program's seccomp filter may kill it. */
	if (places > PCCE_AREA_SEGMENTS || is_confined(CONFINED_NO_MMAP) ||
	    raw_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, &all, &before, sizeof(all)) != 0)
		return;
	old = pcce_page.area;
	new = PCCE_AREA_CAPACITY(old) < places ? new_area(places) : 0;
	if (new) {
		copy_places(area_segments(new), area_segments(old), PCCE_AREA_CAPACITY(old));
		if (old)
			*area_before(new) = old;
		*(volatile __u64 *)&pcce_page.area = new;
		/* Tasks that share the page without the runtime's knowledge may be reading it. So
		 * only its content goes, and the rest at the end. */
		if (old && !is_confined(CONFINED))
			raw_syscall3(SYS_madvise, area_segments(old), area_bytes(old),
				     MADV_DONTNEED);
	}
	raw_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

void __pcce_segment_up(void)
{
	uint64_t word = *position_word();
	uint32_t number = segment_number(word), off = (uint32_t)word;
	uint32_t above = start_of_half(number + 1);
	volatile __u64 *base = page_half(above);

	/* The next segment has a place, too, since its entries may have counts. */
	if (PCCE_AREA_CAPACITY(pcce_page.area) < number + 2)
		grow_area(number + 2);
	if (held_kind(word) == PCCE_PLACE_KEPT)
		store_kept(word);
	*position_word() = word_of(off, number, 0);
	base[0] = next_generation();
	base[1] = PCCE_MARK_WORD;
	*position_word() = word_of(above, number + 1, PCCE_PLACE_KEPT);
}

void __pcce_segment_down(void)
{
	move_down(PCCE_OFF_FULL, NULL);
}

void __pcce_segment_room(void)
{
	struct pcce_page *page = &pcce_page;
	uint32_t used = page->off & PCCE_OFF_USED;

	if (used == PCCE_OFF_FULL - sizeof(struct pcce_entry)) {
		volatile struct pcce_entry *fill =
			(volatile struct pcce_entry *)((char *)page->entry + page->off);

		/* Claimed, then filled, as in a push. The place may hold anything before that. */
		fill->site = PCCE_COUNT_FILL << PCCE_SITE_BITS;
		__asm__ volatile("addl $16, %0" : "+m"(page->off) : : "cc", "memory");
		fill->site = PCCE_COUNT_FILL << PCCE_SITE_BITS;
		used += sizeof(struct pcce_entry);
	}
	if (used == PCCE_OFF_FULL)
		__pcce_segment_up();
}

__attribute__((cold)) struct pcce_change __pcce_segment_below(uint64_t position)
{
	uint64_t word = *position_word();
	uint32_t target = segment_number(position), used = (uint32_t)position & PCCE_OFF_USED,
		 above = word & PCCE_OFF_USED;
	struct pcce_change change = {0, 0};

	if (segment_number(word) != target + 1 || used > PCCE_OFF_FULL)
		return change;
	if (above == 0) {
		__pcce_segment_down();
		change.to = *position_word();
	} else if (above == 2 * sizeof(struct pcce_entry)) {
		if (held_kind(word) != PCCE_PLACE_KEPT) {
			word = word_of((uint32_t)word, target + 1, PCCE_PLACE_FILLING);
			*position_word() = word;
			fill_half(page_half(start_of_half(target)), target);
		}
		change.from = word;
		change.to = word_of(start_of_half(target) + used, target, 0);
	}
	return change;
}

__attribute__((cold)) void __pcce_segment_return(uint64_t position)
{
	uint32_t target = segment_number(position), used = (uint32_t)position & PCCE_OFF_USED;

	if (!move_back(position, NULL) && segment_number(*position_word()) == target &&
	    used <= PCCE_OFF_FULL)
		*(volatile __u32 *)&pcce_page.off = start_of_half(target) + used;
}

/* The previous area may belong to another stack (interpose/ucontext.c). One that a handler
 * reserves meanwhile holds nothing. */
__attribute__((cold)) void __pcce_segment_lost(void)
{
	volatile __u64 *base = page_half(start_of_half(NUMBER_LOST));

	if (page_stays_shared())
		return;
	*(volatile __u64 *)&pcce_page.ext = PCCE_EXT_CHANGING;
	*(volatile __u64 *)&pcce_page.area = 0;
	base[0] = 0;
	base[1] = PCCE_MARK_WORD;
	*position_word() = word_of(start_of_half(NUMBER_LOST), NUMBER_LOST, 0);
	*(volatile __u64 *)&pcce_page.area = 0;
	*(volatile __u64 *)&pcce_page.id = PCCE_ID_LOST;
	*(volatile __u64 *)&pcce_page.ext = 0;
}
