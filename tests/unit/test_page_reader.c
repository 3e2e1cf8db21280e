/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests the reader of thread pages that all samplers share (pcce/page_reader.h), on memory that is
 * simulated here.
 *
 * Hostile pages have random bytes in each field. Whatever they say, nothing may be read outside the
 * page and the area that it names, and nothing written beyond the room of a sample. Real stacks
 * grow and shrink at random. In both, any read may fail.
 */
#include <string.h>
#include <pcce/page_reader.h>
#include "tests/unit/tap.h"

#define ROUNDS 2000000
#define PAGE 0x7000000000c0ULL
#define AREA 0x100000000000ULL
#define PLACES 2048 /* segments of the real area */
#define GUARD 0xa5

static struct pcce_page page;
static struct pcce_segment area[PLACES];
static uint64_t seed = 45;
static unsigned int reads, fails_at; /* the read that fails; 0: none */
static bool outside;		     /* a read was */

/* What a sample has of the stack, as the samplers write it. */
static struct {
	struct pcce_entry entry[1 + PCCE_SEGMENT_ENTRIES]; /* with the base */
	struct pcce_segment segment[PCCE_SAMPLE_SEGMENTS];
	uint8_t guard[64];
} sample;

static uint32_t any(uint32_t n)
{
	return tap_random(&seed) % n;
}

static uint64_t any_word(void)
{
	uint64_t word = (uint64_t)tap_random(&seed) << 32 | tap_random(&seed);

	return word >> any(64);
}

static uint64_t area_bytes(void)
{
	uint64_t places = PCCE_AREA_CAPACITY(page.area);

	return (places < PCCE_AREA_SEGMENTS ? places : PCCE_AREA_SEGMENTS) *
	       sizeof(struct pcce_segment);
}

static bool lies_in(uint64_t from, uint64_t bytes, uint64_t start, uint64_t size)
{
	return from >= start && from - start <= size && bytes <= size - (from - start);
}

static int read_simulated(void *to, __u64 from, __u64 bytes)
{
	memset(to, (int)any(256), bytes / 2); /* a read that fails leaves anything */
	if (++reads == fails_at)
		return 0;
	if (lies_in(from, bytes, PAGE, sizeof(page)))
		memcpy(to, (const char *)&page + (from - PAGE), bytes);
	else if (!lies_in(from, bytes, PCCE_AREA_ADDRESS(page.area), area_bytes()))
		outside = true;
	else if (lies_in(from, bytes, AREA, sizeof(area)))
		memcpy(to, (const char *)area + (from - AREA), bytes);
	else
		memset(to, (int)any(256), bytes);
	return 1;
}

/* The steps of a sampler. Returns the sample's flags. *sent changes as a sampler's does. */
static uint32_t take_sample(struct pcce_page_stack *s, struct pcce_chosen *chosen, uint64_t *sent)
{
	uint32_t flags;

	*chosen = (struct pcce_chosen){0};
	memset(sample.guard, GUARD, sizeof(sample.guard));
	if (!pcce_page_is_valid(&page, PAGE))
		return PCCE_SAMPLE_OUTSIDE;
	flags = pcce_page_describe(s, &page, PAGE);
	if (flags ||
	    !read_simulated(sample.entry, s->base, (1 + s->n_entries) * sizeof(struct pcce_entry)))
		return PCCE_SAMPLE_READ_FAULT;
	s->below = s->n_below ? sample.entry[0].id : 0;
	flags = pcce_choose_unsent(chosen, s, *sent, read_simulated);
	if (!pcce_copy_segments(sample.segment, s, chosen, read_simulated)) {
		chosen->stored = chosen->kept = 0;
		return PCCE_SAMPLE_TRUNCATED;
	}
	*sent = chosen->last;
	return flags;
}

static bool is_sane(const struct pcce_page_stack *s, const struct pcce_chosen *c, uint32_t flags)
{
	uint64_t n = c->stored + c->kept;

	for (size_t i = 0; i < sizeof(sample.guard); i++)
		if (sample.guard[i] != GUARD)
			return false;
	if (outside || reads > 3 + 1 + 17 + 1)
		return false;
	if (flags & PCCE_SAMPLE_OUTSIDE)
		return !reads;
	if (flags & PCCE_SAMPLE_READ_FAULT)
		return !n;
	return s->n_entries <= PCCE_SEGMENT_ENTRIES && n <= PCCE_SAMPLE_SEGMENTS && c->kept <= 1 &&
	       n <= s->n_below && (s->below || !s->n_below || flags) &&
	       (fails_at < 2 || fails_at > reads || flags);
}

static void test_hostile_pages(void)
{
	long i, rounds = tap_rounds(ROUNDS), with_segments = 0, faults = 0;

	for (i = 0; i < rounds; i++) {
		struct pcce_page_stack s = {0};
		struct pcce_chosen chosen;
		uint64_t sent = any_word();
		uint32_t flags;

		for (size_t k = 0; k < sizeof(page) / 8; k++)
			((uint64_t *)&page)[k] = any_word();
		if (any(100)) {
			page.magic = PCCE_PAGE_MAGIC;
			page.version = PCCE_PAGE_VERSION;
		}
		if (any(4))
			page.off = (any(2) ? PCCE_OFF_HALF : 0) + any(2 + PCCE_OFF_FULL / 4) * 4;
		if (any(2))
			page.area = AREA | any(32);
		if (any(2))
			page.place = any(80000) << PCCE_PLACE_SHIFT | any(4);
		reads = 0;
		fails_at = any(3) ? 0 : any(24);
		flags = take_sample(&s, &chosen, &sent);
		with_segments += chosen.stored > 1;
		faults += !!(flags & PCCE_SAMPLE_READ_FAULT);
		if (!is_sane(&s, &chosen, flags))
			break;
	}
	tap_ok(i == rounds, "hostile pages: no read outside, no write beyond the sample",
	       "round %ld: off %#x, place %#x, area %#llx, %u reads", i, page.off, page.place,
	       (unsigned long long)page.area, reads);
	tap_ok(with_segments > rounds / 100 && faults > rounds / 100,
	       "hostile pages: some samples have segments, and some faults", "%ld and %ld of %ld",
	       with_segments, faults, rounds);
}

static void test_heads(void)
{
	struct pcce_page_stack s;
	bool good = true;

	memset(&page, 0, sizeof(page));
	page.magic = PCCE_PAGE_MAGIC;
	page.version = PCCE_PAGE_VERSION;
	tap_ok(pcce_page_is_valid(&page, PAGE) && !pcce_page_is_valid(&page, PAGE + 8),
	       "a page must be aligned", " ");
	page.version++;
	tap_ok(!pcce_page_is_valid(&page, PAGE), "another version is no page", " ");
	for (uint32_t off = 0; off < 2048; off++) {
		uint32_t used = off & ~(uint32_t)PCCE_OFF_HALF;
		bool possible = used <= PCCE_OFF_FULL && used % 16 == 0;

		page.off = off;
		good &= pcce_page_describe(&s, &page, PAGE) ==
			(possible ? 0 : PCCE_SAMPLE_READ_FAULT);
		good &= s.n_entries == (possible ? used / 16 : 0);
		good &= s.upper == (possible ? off - used : 0);
	}
	tap_ok(good, "only full entries up to a segment are a possible off", " ");
	page.off = 0;
	page.place = 3 << PCCE_PLACE_SHIFT | PCCE_PLACE_KEPT;
	pcce_page_describe(&s, &page, PAGE);
	tap_ok(s.kept && !s.area, "without an area, the segment in the page is all", " ");
	page.area = AREA;
	pcce_page_describe(&s, &page, PAGE);
	tap_ok(!s.kept && !s.area, "a stack that is deeper than its area has to wait", " ");
	page.area = AREA | 1;
	pcce_page_describe(&s, &page, PAGE);
	tap_ok(s.kept && s.area == AREA, "an area has room for all but the segment in the page",
	       " ");
}

/* ---- a real stack ------------------------------------------------------------------------ */

static uint64_t generation, received[PLACES]; /* generations that samples have brought */
static uint32_t depth;			      /* complete segments */

/* Makes the segment with this index another one. */
static void renew_segment(uint32_t index)
{
	struct pcce_segment *s = &area[index];

	s->generation = ++generation;
	s->index = index;
	s->base = (struct pcce_entry){index ? s[-1].generation : 0, PCCE_MARK_WORD};
	for (uint32_t i = 0; i < PCCE_SEGMENT_ENTRIES; i++)
		s->entry[i] = (struct pcce_entry){generation, i};
}

static void move_stack(void)
{
	uint32_t reach = any(10) ? 4 : PLACES, n = any(reach);

	depth -= n < depth ? n : depth;
	for (n = any(reach); n && depth < PLACES - 1; n--)
		renew_segment(depth++);
}

/* Writes the page. If the newest segment is kept, its place in the area has something else. */
static void write_page(void)
{
	bool upper = depth & 1, kept = depth && any(2);
	struct pcce_entry *half = &page.base + (upper ? PCCE_OFF_HALF / 16 : 0);
	struct pcce_entry *other = &page.base + (upper ? 0 : PCCE_OFF_HALF / 16);

	memset(&page, 0, sizeof(page));
	page.magic = PCCE_PAGE_MAGIC;
	page.version = PCCE_PAGE_VERSION;
	page.off = (upper ? PCCE_OFF_HALF : 0) + any(PCCE_SEGMENT_ENTRIES + 1) * 16;
	page.place = depth << PCCE_PLACE_SHIFT | (kept ? PCCE_PLACE_KEPT : 0);
	page.area = AREA | (any(4) ? 11 : any(11)); /* 11: there is room for all */
	half[0].id = depth ? area[depth - 1].generation : 0;
	if (!kept)
		return;
	memcpy(other, &area[depth - 1].base, sizeof(*other) * (1 + PCCE_SEGMENT_ENTRIES));
	memset(&area[depth - 1], 0, sizeof(area[0]));
}

/* Returns false if a segment is not as it was made. */
static bool receive(const struct pcce_page_stack *s, const struct pcce_chosen *c)
{
	uint64_t n = c->stored + c->kept;

	for (uint64_t i = 0; i < n; i++) {
		const struct pcce_segment *in = &sample.segment[i];

		if (in->index != c->first + i || in->generation != in->entry[15].id ||
		    (c->kept && i == n - 1 && in->generation != s->below))
			return false;
		received[in->index] = in->generation;
	}
	return true;
}

static bool has_whole_stack(void)
{
	for (uint32_t i = 0; i < depth; i++)
		if (received[i] != area[i].generation)
			return false;
	return true;
}

static void test_real_stacks(void)
{
	long i, rounds = tap_rounds(ROUNDS / 20), again = 0;
	bool good = true, whole = true;
	uint64_t sent = 0;

	for (i = 0; i < rounds && good && whole; i++) {
		struct pcce_segment newest;
		struct pcce_page_stack s;
		struct pcce_chosen chosen;
		uint32_t flags;

		move_stack();
		/* A sampler repeats samples until all is sent, or the stack moves before. */
		for (unsigned int n = any(8); n; n--) {
			if (depth)
				newest = area[depth - 1];
			write_page();
			reads = 0;
			fails_at = any(2) ? 0 : any(12);
			flags = take_sample(&s, &chosen, &sent);
			if (depth)
				area[depth - 1] = newest;
			good = s.n_below == depth && receive(&s, &chosen);
			whole = flags || has_whole_stack();
			again += chosen.stored + chosen.kept && flags;
			if (!good || !whole)
				break;
		}
	}
	tap_ok(good, "real stacks: segments arrive as they are", "round %ld", i);
	tap_ok(whole, "real stacks: a sample that is not truncated completes the stack",
	       "round %ld", i);
	tap_ok(again > rounds / 100, "real stacks: some samples carry a part", "%ld of %ld", again,
	       rounds);
}

/* ---- the search -------------------------------------------------------------------------- */

static uint64_t first_new;
static unsigned int asked;

static int is_known(void *ctx, __u64 index)
{
	(void)ctx;
	asked++;
	return index < first_new;
}

static void test_search(void)
{
	bool good = true;

	for (int i = 0; i < 100000; i++) {
		uint64_t n = 1 + any(any(2) ? 20 : PCCE_AREA_SEGMENTS + 1);
		int near = any(2) ? 1 : 256;

		first_new = any((uint32_t)n);
		asked = 0;
		good &= pcce_find_first_new(n, near, is_known, NULL) == first_new &&
			asked <= (unsigned int)near + 17;
	}
	tap_ok(good, "the search finds the first new segment, in 17 more steps at most", " ");
}

int main(void)
{
	test_heads();
	test_hostile_pages();
	test_real_stacks();
	test_search();
	return tap_done();
}
