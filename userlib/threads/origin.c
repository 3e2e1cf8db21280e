// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Puts a copy of a thread's creator's encoding stack below the thread's own.
 *
 * The copy is in complete segments, and ends with the two entries of PCCE_COUNT_ORIGIN. So a
 * sampler needs no other way to get the origin. It brings what is below the current segment once
 * for each thread, without knowing what that is. This also works for samplers that attach to
 * threads that have run for hours. An origin is lost only where a thread's other segments would be.
 * A creator's own origin is part of its stack, so it is copied, too.
 *
 * Price: the creator's entries are copied twice when a thread is created. Mostly they fit in one
 * segment, which stays in the page's other half, so no area has to be reserved. The number of
 * segments below is even, so the thread's own first segment is in the lower half. There one read is
 * enough for a sampler. If that leaves a place free, it is the outermost one (place 0), which then
 * holds no segment.
 *
 * Of a deep stack the newest PCCE_ORIGIN_SEGMENTS are copied. The number of entries that the
 * creator had tells that some are missing.
 */
#include <string.h>
#include "internal.h"
#include "threads/origin.h"
#include "stack/segment_moves.h"
#include "stack/stack_state.h"

#define PER_SEGMENT PCCE_SEGMENT_ENTRIES
#define ENTRIES_MAX (PCCE_ORIGIN_SEGMENTS * PER_SEGMENT - 2)

static struct pcce_entry *segment_base(uint32_t number)
{
	return (struct pcce_entry *)page_half(start_of_half(number));
}

static uint64_t count_entries(uint64_t word)
{
	return (uint64_t)segment_number(word) * PER_SEGMENT +
	       ((uint32_t)word & PCCE_OFF_USED) / sizeof(struct pcce_entry);
}

/* ---- the creator ------------------------------------------------------------------------- */

uint32_t origin_room(void)
{
	uint64_t n = count_entries(*position_word());

	return n < ENTRIES_MAX ? (uint32_t)n : ENTRIES_MAX;
}

/* Copies the segment below the current one. Meanwhile a handler may move it from the half to the
 * area, and leaves it there. */
static bool read_segment_below(struct pcce_segment *to, uint32_t index, uint64_t generation)
{
	const struct pcce_segment *stored;
	uint64_t word = *position_word();

	if (index + 1 == segment_number(word) && held_kind(word) == PCCE_PLACE_KEPT) {
		memcpy(&to->base, segment_base(index), BASE_AND_ENTRIES * sizeof(uint64_t));
		__asm__ volatile("" ::: "memory");
		if (*position_word() == word)
			return true;
	}
	stored = stored_segment(index);
	if (!stored || stored->generation != generation)
		return false;
	memcpy(&to->base, &stored->base, BASE_AND_ENTRIES * sizeof(uint64_t));
	return true;
}

/* Copies entries from the newest backwards, without fill entries. */
struct filling {
	struct pcce_entry *at;
	uint32_t room;
	/* The creator's own origin has been copied; it says itself what is missing below it. */
	bool origin;
};

static uint32_t prepend(struct filling *f, const struct pcce_entry *entries, uint32_t n)
{
	while (n && f->room) {
		const struct pcce_entry *e = &entries[--n];
		uint64_t kind = e->site >> PCCE_SITE_BITS;

		if (kind == PCCE_COUNT_FILL)
			continue;
		f->origin |= kind == PCCE_COUNT_ORIGIN;
		*--f->at = *e;
		f->room--;
	}
	return n;
}

void origin_take(struct origin *o, struct pcce_entry *entries, uint32_t room)
{
	struct filling f = {entries + room, room, false};
	uint64_t word = *position_word(), generation;
	uint32_t number = segment_number(word),
		 left = ((uint32_t)word & PCCE_OFF_USED) / sizeof(*entries);
	struct pcce_segment segment;

	*o = (struct origin){
		.id = pcce_page.id, .ext = pcce_page.ext, .known = left <= PER_SEGMENT};
	if (!o->known)
		return; /* an impossible off */
	left = prepend(&f, segment_base(number) + 1, left);
	generation = segment_base(number)->id;
	while (!left && number && generation && f.room &&
	       read_segment_below(&segment, number - 1, generation)) {
		left = prepend(&f, segment.entry, PER_SEGMENT);
		generation = segment.base.id;
		number--;
	}
	o->n = room - f.room;
	o->entries = f.at;
	o->total = o->n + (f.origin ? 0 : (uint64_t)number * PER_SEGMENT + left);
}

/* ---- the thread -------------------------------------------------------------------------- */

/* Returns the entry for a place of the segments: first fill entries, then the creator's, then the
 * pair. */
static struct pcce_entry entry_at(const struct origin *o, uint32_t place, uint32_t fill)
{
	if (place < fill)
		return (struct pcce_entry){0, PCCE_COUNT_FILL << PCCE_SITE_BITS};
	place -= fill;
	if (place < o->n)
		return o->entries[place];
	if (place == o->n)
		return (struct pcce_entry){o->id, PCCE_COUNT_ORIGIN << PCCE_SITE_BITS | o->ext};
	return (struct pcce_entry){o->total, PCCE_COUNT_ORIGIN2 << PCCE_SITE_BITS};
}

static void lay_segment(const struct origin *o, struct pcce_entry *base, uint64_t below,
			uint32_t place, uint32_t fill)
{
	base->id = below;
	base->site = PCCE_MARK_WORD;
	for (uint32_t i = 0; i < PER_SEGMENT; i++)
		base[i + 1] = entry_at(o, place + i, fill);
}

/* Lays the n segments that are not in the page. Returns the generation of the newest, or 0. */
static uint64_t lay_area(const struct origin *o, struct pcce_segment *first, uint32_t index,
			 uint32_t n, uint32_t fill)
{
	uint64_t below = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct pcce_segment *s = &first[i];
		uint64_t generation = next_generation();

		lay_segment(o, &s->base, below, i * PER_SEGMENT, fill);
		s->index = index + i;
		s->generation = generation;
		below = generation;
	}
	return below;
}

static uint64_t exchange_area(uint64_t area)
{
	__asm__ volatile("xchgq %1, %0" : "+m"(pcce_page.area), "+r"(area) : : "memory");
	return area;
}

/* A signal handler may use the whole encoding stack until the store of the position says what is in
 * use. If it has begun a segment, there is another generation, and all is done again. */
void origin_enter(const struct origin *whole)
{
	struct origin o = *whole;
	uint32_t segments = (o.n + 2 + PER_SEGMENT - 1) / PER_SEGMENT;
	struct pcce_entry *kept = segment_base(1), *own = segment_base(0);

	if (!o.known || o.ext > PCCE_SITE_MASK || count_entries(*position_word()))
		return;
	for (;;) {
		uint32_t top = segments - 1 + (segments & 1), fill, first;
		uint64_t area = segments > 1 ? new_area(top + 2) : 0, below, generation;

		if (segments > 1 && !area) {
			o.entries += o.n - (PER_SEGMENT - 2);
			o.n = PER_SEGMENT - 2;
			segments = 1;
			continue;
		}
		fill = segments * PER_SEGMENT - o.n - 2;
		first = top + 1 - segments;
		below = lay_area(&o, area_segments(area) + first, first, segments - 1, fill);
		if (area)
			__pcce_stack_free_area(exchange_area(area));
		generation = next_generation();
		lay_segment(&o, kept, below, (segments - 1) * PER_SEGMENT, fill);
		own->id = generation;
		own->site = PCCE_MARK_WORD;
		__asm__ volatile("" ::: "memory");
		*position_word() = word_of(0, top + 1, PCCE_PLACE_KEPT);
		__asm__ volatile("" ::: "memory");
		if (pcce_page.generation == generation)
			return;
		*position_word() = 0;
	}
}
