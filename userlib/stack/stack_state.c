// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Saves and loads the page's state of one stack of the program; see stack_state.h. */
#include "stack/segment_moves.h"
#include "stack/stack_state.h"
#include "stack/unknown.h"

_Static_assert(HALF_WORDS == BASE_AND_ENTRIES, "a half is a base and a segment's entries");

static volatile __u64 *segment_half(uint32_t number)
{
	return page_half(start_of_half(number));
}

/* Returns the words of the current segment that are in use, with its base. */
static unsigned int words_in_use(uint64_t position)
{
	return ((uint32_t)position & PCCE_OFF_USED) / sizeof(uint64_t) + 2;
}

static void copy_half(volatile __u64 *to, const volatile __u64 *from, unsigned int words)
{
	for (unsigned int i = 0; i < words; i++)
		to[i] = from[i];
}

/* A handler in between can take away only KEPT, and then the area has what was kept. */
bool __pcce_stack_keep(struct stack_state *s)
{
	uint64_t position;

	if (page_stays_shared())
		return false;
	do {
		position = *position_word();
		if (words_in_use(position) > HALF_WORDS)
			return false;
		copy_half(s->half[segment_number(position) & 1],
			  segment_half(segment_number(position)), words_in_use(position));
		if (held_kind(position) == PCCE_PLACE_KEPT)
			copy_half(s->half[~segment_number(position) & 1],
				  segment_half(~segment_number(position)), HALF_WORDS);
		s->area = pcce_page.area;
	} while (*position_word() != position);
	s->position = position;
	s->id = pcce_page.id;
	s->ext = pcce_page.ext;
	return true;
}

/* Stores what the page's other half held in the area, where all other segments below are. It may be
 * the only one. */
static void store_held(struct stack_state *s)
{
	uint32_t number = segment_number(s->position) - 1;
	struct pcce_segment *area;

	if (held_kind(s->position) != PCCE_PLACE_KEPT)
		return;
	if (!s->area)
		s->area = new_area(number + 2);
	if (number >= PCCE_AREA_CAPACITY(s->area))
		return;
	area = area_segments(s->area);
	copy_half((volatile __u64 *)&area[number].base, s->half[number & 1], HALF_WORDS);
	area[number].index = number;
	area[number].generation = 1;
}

/*
 * Gives the segments below new generations. A sampler that has seen the old ones may have seen
 * others in their places since, and in another thread. Returns the newest one, which the current
 * segment's base has to name.
 */
static uint64_t renumber(struct stack_state *s)
{
	uint32_t number = segment_number(s->position);
	struct pcce_segment *area = area_segments(s->area);
	uint64_t below = 0;

	for (uint32_t i = 0; i < number && i < PCCE_AREA_CAPACITY(s->area); i++) {
		if (!area[i].generation) {
			below = 0;
			continue;
		}
		area[i].base.id = below;
		area[i].generation = below = next_generation();
	}
	return number <= PCCE_AREA_CAPACITY(s->area) ? below : 0;
}

void __pcce_stack_free_area(uint64_t area)
{
	while (area) {
		uint64_t before = *area_before(area);

		raw_syscall2(SYS_munmap, area_segments(area), area_bytes(area));
		area = before;
	}
}

static uint64_t exchange_word(volatile __u64 *at, uint64_t value)
{
	__asm__ volatile("xchgq %1, %0" : "+m"(*at), "+r"(value) : : "memory");
	return value;
}

/* Begins an empty encoding stack with this number of segments below. The previous area belongs to
 * another stack. */
static void begin_stack(uint32_t number, uint64_t area)
{
	volatile __u64 *base = segment_half(number);

	*(volatile __u64 *)&pcce_page.area = 0;
	base[0] = 0;
	base[1] = PCCE_MARK_WORD;
	*position_word() = word_of(start_of_half(number), number, 0);
	*(volatile __u64 *)&pcce_page.counting = 0;
	/* A handler may have reserved one. */
	__pcce_stack_free_area(exchange_word((volatile __u64 *)&pcce_page.area, area));
}

void __pcce_stack_empty(void)
{
	if (!page_stays_shared())
		begin_stack(0, 0);
}

/*
 * A handler writes above what is in use, so that is claimed first. What it finds until then does
 * not matter, since ext says so. The generation of what is below comes last: a sampler that sees it
 * takes everything below as valid.
 */
void __pcce_stack_load(struct stack_state *s, uint64_t ext)
{
	uint32_t number = segment_number(s->position);
	volatile __u64 *base = segment_half(number);
	uint64_t below;

	if (page_stays_shared())
		return;
	store_held(s);
	begin_stack(number, s->area);
	below = renumber(s);
	*position_word() = word_of((uint32_t)s->position, number, 0);
	copy_half(base + 1, s->half[number & 1] + 1, words_in_use(s->position) - 1);
	base[0] = below;
	*(volatile __u64 *)&pcce_page.id = s->id;
	*(volatile __u64 *)&pcce_page.ext = ext;
}
