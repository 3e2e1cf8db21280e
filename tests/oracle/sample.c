// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements the sampling of a stopped thread; see sample.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/oracle/digest.h"
#include "tests/oracle/sample.h"
#include <pcce/sample.h>

#define OFFSETS 4
#define EARLY 12 /* entries */
#define BASE offsetof(struct pcce_page, base)
#define BASE_AND_ENTRIES (sizeof(struct pcce_entry) * (1 + PCCE_SEGMENT_ENTRIES))

/* Finds the thread's page and reads its head with the lower half's first entries, because most
 * stacks are small.  Returns 0 if the thread has none.
 */
static uint64_t read_page(struct pcce_page *page, const struct space *s, uint64_t fs_base)
{
	const size_t size = offsetof(struct pcce_page, entry) + EARLY * sizeof(struct pcce_entry);
	int64_t offsets[OFFSETS];
	size_t n = space_page_offsets(s, offsets, OFFSETS);

	for (size_t i = 0; fs_base && i < n; i++) {
		uint64_t address = fs_base + (uint64_t)offsets[i];

		if (memory_read(s->pid, address, page, size) == size &&
		    page->magic == PCCE_PAGE_MAGIC && page->version == PCCE_PAGE_VERSION)
			return address;
	}
	return 0;
}

/* Base and entries of the current segment. */
static bool read_current(struct pcce_entry *to, const struct space *s, uint64_t address,
			 const struct pcce_page *page)
{
	uint32_t used = page->off & PCCE_OFF_USED, half = page->off & PCCE_OFF_HALF;
	size_t size = used + sizeof(struct pcce_entry);

	if (!half && used <= EARLY * sizeof(struct pcce_entry)) {
		memcpy(to, &page->base, size);
		return true;
	}
	return memory_read(s->pid, address + BASE + half, to, size) == size;
}

static uint64_t generation_of(const struct space *s, const struct pcce_page *page, uint64_t index)
{
	uint64_t generation = 0;

	memory_read(s->pid, PCCE_AREA_ADDRESS(page->area) + index * sizeof(struct pcce_segment),
		    &generation, sizeof(generation));
	return generation;
}

/* The complete segments that have not been sent. */
static uint32_t read_segments(struct pcce_segment *to, struct pcce_sample *sample,
			      const struct space *s, uint64_t address, const struct pcce_page *page,
			      uint64_t *sent)
{
	bool kept = (page->place & PCCE_PLACE_HELD) == PCCE_PLACE_KEPT;
	uint64_t area = PCCE_AREA_ADDRESS(page->area), first = sample->n_below - 1, all, stored,
		 last = sample->below;
	uint32_t flags = 0;

	if ((int64_t)(sample->below - *sent) <= 0)
		return 0;
	if (sample->n_below - kept > PCCE_AREA_CAPACITY(page->area))
		area = 0;
	if (!area && !kept)
		return PCCE_SAMPLE_TRUNCATED;
	while (area && first && (int64_t)(generation_of(s, page, first - 1) - *sent) > 0)
		first--;
	all = sample->n_below - first;
	if (all > PCCE_SAMPLE_SEGMENTS) {
		all = PCCE_SAMPLE_SEGMENTS;
		kept = false;
		last = generation_of(s, page, first + all - 1);
		flags = PCCE_SAMPLE_TRUNCATED;
	}
	stored = all - kept;
	if (stored && memory_read(s->pid, area + first * sizeof(*to), to, stored * sizeof(*to)) !=
			      stored * sizeof(*to))
		return PCCE_SAMPLE_TRUNCATED;
	if (kept) {
		to[stored].generation = sample->below;
		to[stored].index = sample->n_below - 1;
		if (memory_read(s->pid, address + BASE + (~page->off & PCCE_OFF_HALF),
				&to[stored].base, BASE_AND_ENTRIES) != BASE_AND_ENTRIES)
			return PCCE_SAMPLE_TRUNCATED;
	}
	sample->n_segments = (uint32_t)all;
	*sent = last;
	return flags;
}

static uint64_t hash_words(uint64_t h, const void *from, size_t size)
{
	const uint64_t *w = from;
	uint64_t a = h, b = ~h;

	for (size_t i = 0; i + 1 < size / 8; i += 2) {
		a = (a ^ w[i]) * 0x7fb5d329728ea185ULL;
		b = (b ^ w[i + 1]) * 0x81dadef4bc2dd44dULL;
		a ^= a >> 29;
		b ^= b >> 31;
	}
	return mix64(a ^ mix64(b));
}

static void read_stack(struct sample *out, const struct space *s, uint64_t address,
		       const struct pcce_page *page, uint64_t *sent)
{
	struct pcce_entry current[1 + PCCE_SEGMENT_ENTRIES];
	struct pcce_sample *sample = &out->s;

	if ((page->off & ~(uint32_t)PCCE_OFF_HALF) > PCCE_OFF_FULL ||
	    page->off % sizeof(struct pcce_entry) || !read_current(current, s, address, page)) {
		sample->flags = PCCE_SAMPLE_READ_FAULT;
		return;
	}
	sample->id = page->id;
	sample->ext = page->ext;
	sample->n_entries = (page->off & PCCE_OFF_USED) / sizeof(struct pcce_entry);
	sample->n_below = page->place >> PCCE_PLACE_SHIFT;
	memcpy(out->rest, current + 1, sample->n_entries * sizeof(*current));
	if (!sample->n_below)
		return;
	sample->below = current[0].id;
	sample->flags = read_segments(
		(struct pcce_segment *)(out->rest + sample->n_entries * sizeof(*current)), sample,
		s, address, page, sent);
}

void sample_take(struct sample *out, const struct space *s, pid_t tid,
		 const struct user_regs_struct *regs, uint64_t *sent)
{
	static struct stack_store *segments;
	static struct pcce_page page;
	struct pcce_sample *sample = &out->s;
	uint64_t address;

	_Static_assert(offsetof(struct sample, rest) == sizeof(struct pcce_sample),
		       "as a sampler writes it");
	*sample = (struct pcce_sample){
		.pid = (uint32_t)s->pid,
		.tid = (uint32_t)tid,
		.ip = regs->rip,
		.r11 = regs->r11,
		.sp = regs->rsp,
		.weight = 1,
	};
	address = read_page(&page, s, regs->fs_base);
	if (address)
		read_stack(out, s, address, &page, sent);
	else
		sample->flags = PCCE_SAMPLE_OUTSIDE;
	if (!segments)
		segments = stack_store_new();
	if (!segments || stack_store_take(segments, sample, &out->below)) {
		fprintf(stderr, "step: no memory left\n");
		exit(2);
	}
	decode_take_stack_pointer(&s->as, sample);
	out->hash = mix64(sample->id ^ mix64(sample->ext + sample->flags));
	out->hash = mix64(out->hash ^ ((uint64_t)sample->n_below << 32 | sample->n_entries) ^
			  stack_store_hash(out->below));
	out->hash = hash_words(out->hash, out->rest, sample->n_entries * sizeof(struct pcce_entry));
}
