// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tests the push and pop helpers against a model: registers and the red zone, compression, the full
 * page, segments, the area and its capacity, a refused area, restoration, random sequences.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "entries.h"

#define MODEL_MAX 4096

static struct pushed model[MODEL_MAX], seen[MODEL_MAX];
static size_t n_model;
static void *volatile page;

static void patterns(void)
{
	uint64_t *r = &regs_in.rax;

	for (size_t i = 0; i < sizeof(regs_in) / 8; i++)
		r[i] = 0x0101010101010101ULL * (i + 1) ^ (uint64_t)random();
}

/* Checks that all registers were kept, except r10, which is free, and r11, which has other checks.
 */
static bool kept(uint64_t r11)
{
	struct regs want = regs_in;

	want.r10 = regs_out.r10;
	want.r11 = r11;
	return memcmp(&want, &regs_out, sizeof(want)) == 0;
}

static void reset(void)
{
	pcce_page.id = 0;
	pcce_page.ext = 0;
	pcce_page.position = 0;
	pcce_page.base = (struct pcce_entry){0, PCCE_MARK_WORD};
	n_model = 0;
}

static bool matches(uint64_t id)
{
	size_t n = expand(&pcce_page,
			  (const struct pcce_segment *)(uintptr_t)PCCE_AREA_ADDRESS(pcce_page.area),
			  seen, MODEL_MAX);

	return pcce_page.id == id && n == n_model && memcmp(seen, model, n * sizeof(*seen)) == 0;
}

static bool push(uint64_t site, bool slow, uint64_t misalign)
{
	uint64_t ext = pcce_page.ext;
	bool good;

	patterns();
	model[n_model++] = (struct pushed){pcce_page.id, site};
	call_helper(slow ? OP_PUSH_SLOW : OP_PUSH, site, misalign);
	if (slow)
		model[n_model - 1].site = regs_out.r11;
	good = kept(slow ? regs_out.r11 : site);
	return good && matches(0) && pcce_page.ext == ext;
}

static bool pop(bool slow, uint64_t misalign)
{
	uint64_t end = 0x1234567, id = model[--n_model].id;
	bool good;

	patterns();
	call_helper(slow ? OP_POP_SLOW : OP_POP, end, misalign);
	good = kept(slow ? regs_out.r11 : end);
	return good && matches(id);
}

static void test_simple(void)
{
	bool good = true;

	reset();
	for (uint64_t misalign = 0; misalign <= 8; misalign += 8) {
		pcce_page.id = 7;
		pcce_page.ext = 5;
		good &= push(SITE(1), false, misalign);
		pcce_page.id = 9;
		good &= push(SITE(2), false, misalign);
		good &= pcce_page.off == 32;
		good &= pop(false, misalign);
		good &= pop(false, misalign);
		good &= pcce_page.id == 7 && pcce_page.off == 0 && pcce_page.ext == 5;
	}
	ok(good, "push and pop keep registers, red zone and ext, on aligned and misaligned stacks");
	pcce_page.ext = 0;
	pcce_page.id = 3;
	good = push(0, true, 0) && pop(true, 8) && pcce_page.id == 3 && pcce_page.off == 0;
	ok(good, "the slow stubs go on at r11");
}

static bool top_is(uint64_t site, uint64_t count)
{
	const struct pcce_entry *top = &(&pcce_page.base)[pcce_page.off / 16];

	return top->site == (site | count << PCCE_SITE_BITS);
}

static void test_compression(void)
{
	const unsigned int many = 70000;
	bool good = true;

	reset();
	for (int i = 0; i < PCCE_SEGMENT_ENTRIES; i++)
		good &= push(SITE(1), false, 0) && top_is(SITE(1), 0);
	good &= pcce_page.off == PCCE_OFF_FULL;
	for (uint64_t i = 1; i < 1000; i++)
		good &= push(SITE(1), false, 0) && top_is(SITE(1), i);
	good &= pcce_page.off == PCCE_OFF_FULL;
	pcce_page.id = 1;
	good &= push(SITE(1), false, 0) && pcce_page.off == PCCE_OFF_HALF + 16;
	good &= push(SITE(2), false, 0) && pcce_page.off == PCCE_OFF_HALF + 32;
	while (n_model)
		good &= pop(false, 0);
	good &= pcce_page.off == 0 && pcce_page.id == 0;
	ok(good, "where the segment is full, equal id and site as the top entry: counted; another "
		 "id or site: a new entry");

	reset();
	for (unsigned int i = 0; i < many; i++)
		call_helper(OP_PUSH, SITE(1), 0);
	good = pcce_page.off == PCCE_OFF_HALF + PCCE_OFF_FULL &&
	       pcce_page.entry[PCCE_SEGMENT_ENTRIES - 1].site ==
		       (SITE(1) | PCCE_COUNT_MAX << PCCE_SITE_BITS) &&
	       top_is(SITE(1), many - PCCE_COUNT_MAX - 2 * PCCE_SEGMENT_ENTRIES);
	ok(good, "a count stops at PCCE_COUNT_MAX and a new segment begins");
	for (unsigned int i = 0; i < many; i++)
		call_helper(OP_POP, 1, 0);
	ok(pcce_page.off == 0 && pcce_page.id == 0, "and is popped again");
}

static void fill(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		pcce_page.id = i + 1;
		if (n_model < MODEL_MAX)
			model[n_model++] = (struct pushed){i + 1, SITE(i)};
		call_helper(OP_PUSH, SITE(i), 0);
	}
}

static uint32_t below(void)
{
	return pcce_page.place >> PCCE_PLACE_SHIFT;
}

static void test_segments(void)
{
	uint64_t generation, above;
	bool good;

	reset();
	fill(PCCE_SEGMENT_ENTRIES);
	ok(matches(0) && pcce_page.off == PCCE_OFF_FULL && !pcce_page.area,
	   "the first segment needs no area");
	pcce_page.id = 1000;
	good = push(SITE(1000), false, 8);
	generation = pcce_page.entry[PCCE_OFF_HALF / 16 - 1].id;
	good &= pcce_page.off == PCCE_OFF_HALF + 16 && pcce_page.area && below() == 1 &&
		generation && (pcce_page.place & PCCE_PLACE_HELD) == PCCE_PLACE_KEPT;
	ok(good,
	   "the next entry begins a segment in the upper half, whose base names the one below");
	good = pop(false, 0) && pop(false, 0) && below() == 0 &&
	       pcce_page.off == PCCE_OFF_FULL - 16;
	pcce_page.id = 5;
	good &= push(SITE(5), false, 0) && push(SITE(6), false, 0);
	above = pcce_page.entry[PCCE_OFF_HALF / 16 - 1].id;
	ok(good && above > generation, "down and up again: another generation");
	good = true;
	for (int i = 0; i < 1000; i++) {
		pcce_page.id = 2000 + (uint64_t)i;
		good &= push(SITE(i), i & 1, 0);
	}
	ok(good && below() == n_model / PCCE_SEGMENT_ENTRIES, "many segments");
	while (n_model)
		good &= pop(n_model & 1, 0);
	ok(good && pcce_page.position == 0 && pcce_page.base.id == 0, "and all are popped");
}

static void test_capacity(void)
{
	uint64_t most = (uint64_t)PCCE_AREA_SEGMENTS * PCCE_SEGMENT_ENTRIES,
		 n = most + 3 * PCCE_SEGMENT_ENTRIES + 10;
	uint64_t lost = 0;
	bool good = true;

	reset();
	fill(n);
	ok(below() == PCCE_AREA_SEGMENTS + 3, "the segments count on beyond the capacity");
	for (uint64_t i = n; i-- > 0;) {
		call_helper(OP_POP, 1, 0);
		lost += pcce_page.id == PCCE_ID_LOST;
		good &= pcce_page.id ==
			(pcce_page.id == PCCE_ID_LOST && i >= most ? PCCE_ID_LOST : i + 1);
	}
	/* The two newest were in the page. */
	ok(good && lost == 2 * PCCE_SEGMENT_ENTRIES && pcce_page.off == 0,
	   "ids beyond it are lost, those within it are not");
}

/* Runs in a child, which has no area yet and is refused one. */
static void test_refused(void)
{
	struct rlimit none = {1 << 20, 1 << 20};
	int status;

	if (fork() == 0) {
		bool good = true;

		pcce_page.area = 0;
		setrlimit(RLIMIT_AS, &none);
		reset();
		for (unsigned int i = 0; i < 3 * PCCE_SEGMENT_ENTRIES; i++) {
			pcce_page.id = i + 1;
			patterns();
			call_helper(OP_PUSH, SITE(i), i & 8);
			good &= kept(SITE(i)) && pcce_page.id == 0 && pcce_page.ext == 0;
		}
		good &= !pcce_page.area && below() == 2;
		for (unsigned int i = 3 * PCCE_SEGMENT_ENTRIES; i-- > 0;) {
			patterns();
			call_helper(OP_POP, 1, 0);
			good &= kept(1) &&
				pcce_page.id == (i < PCCE_SEGMENT_ENTRIES ? PCCE_ID_LOST : i + 1) &&
				pcce_page.ext == 0;
		}
		_exit(good && pcce_page.position == 0 ? 0 : 1);
	}
	wait(&status);
	ok(status == 0,
	   "without an area segments count, and what does not fit into the page is lost");
}

static void test_empty(void)
{
	reset();
	pcce_page.id = 4;
	call_helper(OP_POP, 1, 0);
	ok(pcce_page.off == 0 && pcce_page.id == PCCE_ID_LOST,
	   "a pop too many loses the id and nothing else");
	ok(pcce_page.base.site >> PCCE_SITE_BITS != 0,
	   "an inline pop on an empty stack takes the slow path");
	for (uint64_t bits = 4; bits < 32; bits++) {
		bool good = true;

		if (1u << bits == PCCE_OFF_HALF || 1u << bits <= PCCE_OFF_FULL)
			continue;
		reset();
		pcce_page.off = 1u << bits;
		call_helper(OP_PUSH, SITE(1), 0);
		good = pcce_page.off == 32 && pcce_page.entry[1].site == SITE(1) &&
		       pcce_page.entry[0].site >> PCCE_SITE_BITS == PCCE_COUNT_UNKNOWN;
		ok(good && 1u << bits & PCCE_OFF_SLOW,
		   "a push onto no stack of ours (off 2^%d) begins one that is marked", (int)bits);
	}
}

/* Two tasks that share the page without the runtime's knowledge can make off negative. */
static void test_negative(void)
{
	for (int off = -16; off >= -32; off -= 16) {
		reset();
		pcce_page.off = (uint32_t)off;
		call_helper(OP_POP, 1, 0);
		ok((int)pcce_page.off == off && pcce_page.id == PCCE_ID_LOST,
		   "a pop with off %d goes no further", off);
		call_helper(OP_PUSH, SITE(1), 0);
		ok(pcce_page.off == 32, "and the next push begins a stack that is marked");
	}
}

/* After that, all of the page's words but id and ext must stay. */
static void test_shared(void)
{
	struct pcce_page before;
	bool good = true;

	reset();
	fill(PCCE_SEGMENT_ENTRIES);
	pcce_page.entry[PCCE_SEGMENT_ENTRIES - 1] =
		(struct pcce_entry){5, PCCE_COUNT_SHARED << PCCE_SITE_BITS};
	pcce_page.state |= PCCE_STATE_SHARED;
	before = pcce_page;
	for (int i = 0; i < 100; i++) {
		patterns();
		call_helper(i & 1 ? OP_PUSH : OP_PUSH_SLOW, SITE(i), i & 8);
		good &= kept(i & 1 ? SITE(i) : regs_out.r11);
		patterns();
		call_helper(i & 2 ? OP_POP : OP_POP_SLOW, 1, i & 8);
		good &= kept(i & 2 ? 1 : regs_out.r11);
		before.id = pcce_page.id;
		before.ext = pcce_page.ext;
		good &= !memcmp(&before, &pcce_page, sizeof(before));
	}
	ok(good, "in a shared page pushes and pops change nothing");
	__pcce_restore(1, 0, 0);
	ok(pcce_page.position == before.position &&
		   pcce_page.entry[PCCE_SEGMENT_ENTRIES - 1].id == ~0ULL,
	   "nor does restore, but no pop ends the sharing any more");
	pcce_page.state &= ~PCCE_STATE_SHARED;
}

static void test_restore(void)
{
	uint64_t word, position;
	bool good;

	reset();
	fill(PCCE_SEGMENT_ENTRIES - 1);
	push(SITE(2), false, 0);
	push(SITE(2), false, 0);
	position = pcce_page.position;
	word = pcce_page.entry[PCCE_SEGMENT_ENTRIES - 1].site;
	for (int i = 0; i < 30; i++)
		call_helper(OP_PUSH, SITE(2), 0);
	pcce_page.id = 77;
	call_helper(OP_PUSH, SITE(3), 0);
	pcce_page.ext = 9;
	__pcce_restore(42, position, word);
	ok(matches(42) && !pcce_page.ext, "restore takes back counts and entries");

	/* To each segment from each that is above it, with the top entry repeated meanwhile; and to
	 * a full and an empty one. */
	good = true;
	for (unsigned int target = 0; target < 5; target++)
		for (unsigned int from = target; from < target + 5; from++)
			for (unsigned int used = 0; used <= PCCE_SEGMENT_ENTRIES; used += 16) {
				unsigned int n = target * PCCE_SEGMENT_ENTRIES + used;

				reset();
				fill(n);
				position = pcce_page.position;
				word = (&pcce_page.base)[pcce_page.off / 16].site;
				if (used) {
					pcce_page.id = n;
					call_helper(OP_PUSH, SITE(n - 1), 0);
				}
				for (unsigned int i = n; i < from * PCCE_SEGMENT_ENTRIES + 40;
				     i++) {
					pcce_page.id = i;
					call_helper(OP_PUSH, SITE(i + 7), 0);
				}
				pcce_page.ext = 9;
				__pcce_restore(43, position, word);
				good &= matches(43) && !pcce_page.ext;
				good &= push(SITE(3), false, 0) && pop(false, 0);
				while (n_model)
					good &= pop(false, 0);
			}
	ok(good, "restore from any segment to any below it");
}

static void test_random(void)
{
	for (unsigned int seed = 1; seed <= 5; seed++) {
		bool good = true;

		srandom(seed);
		reset();
		for (int i = 0; i < 20000 && good; i++) {
			long r = random();
			/* Up and down in waves that cross the end of the page. */
			bool up = r % 100 < ((i / 1500) & 1 ? 25 : 72);

			if (n_model && !(up && n_model < MODEL_MAX - 1)) {
				good = pop(r >> 8 & 1, r >> 9 & 8);
			} else if (n_model < MODEL_MAX - 1) {
				if (r >> 12 & 1)
					pcce_page.id = (uint64_t)(r >> 16 & 3);
				good = push(SITE(r >> 20 & 3), r >> 8 & 1, r >> 9 & 8);
			}
		}
		ok(good, "20000 random pushes and pops, seed %u", seed);
	}
}

static void test_ranges(void)
{
	uint64_t end = entries.push;
	bool contiguous = true;
	unsigned int landed =
		0; /* three parts of __pcce_restore, the last of which is the end of the helpers */

	/* Push, pop, their stubs and __pcce_restore without gap; then what other parts of the
	 * runtime say. */
	for (size_t i = 0; i < n_helpers; i++) {
		const struct pcce_table_helper *h = &helpers[i];

		if (landed < 3)
			contiguous &= h->addr == end && h->state != PCCE_HELPER_JUMPING &&
				      h->state != PCCE_HELPER_HANDLER;
		else
			contiguous &= h->addr >= end && h->state >= PCCE_HELPER_RESTORING;
		contiguous &= h->length > 0 && h->addr + h->length <= entries.text_end;
		landed += h->state == PCCE_HELPER_LANDED;
		end = h->addr + h->length;
	}
	contiguous &= landed == 3 && entries.pop_slow < end;
	ok(contiguous, "the ranges cover the helpers without gap, in order");
	ok(helper_at(entries.push_slow) && helper_at(entries.pop_slow) && helper_at(entries.pop) &&
		   helper_at((uintptr_t)__pcce_restore)->state == PCCE_HELPER_LANDING &&
		   !helper_at(end),
	   "and the slow stubs and the restoration");
	ok(entries.text <= entries.push && end < entries.text_end &&
		   entries.tls_insn >= entries.text && entries.tls_insn < entries.text_end,
	   "text covers all");
	ok(memcmp((void *)(uintptr_t)entries.tls_insn, "\x49\xc7\xc3", 3) == 0 &&
		   *(int32_t *)(uintptr_t)(entries.tls_insn + 3) +
				   (char *)__builtin_thread_pointer() ==
			   (char *)page,
	   "tls_insn was relaxed to the page's offset");
}

int main(void)
{
	page = &pcce_page;
	test_ranges();
	test_simple();
	test_segments();
	test_compression();
	test_capacity();
	test_refused();
	test_empty();
	test_negative();
	test_shared();
	test_restore();
	test_random();
	reset();
	return done_testing();
}
