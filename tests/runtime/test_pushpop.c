// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The push and pop helpers against a model: registers and the red zone, compression, the full page,
 * the spill area and its capacity, a refused area, restoration, random sequences.
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

/* Were all registers but r11 (which is checked by itself) kept? */
static bool kept(uint64_t r11)
{
	struct regs want = regs_in;

	want.r11 = r11;
	return memcmp(&want, &regs_out, sizeof(want)) == 0;
}

static void reset(void)
{
	pcce_page.id = 0;
	pcce_page.ext = 0;
	pcce_page.off = 0;
	n_model = 0;
}

static bool matches(uint64_t id)
{
	size_t n = expand(&pcce_page, (const struct pcce_entry *)(uintptr_t)pcce_page.spill, seen, MODEL_MAX);

	return pcce_page.id == id && n == n_model && memcmp(seen, model, n * sizeof(*seen)) == 0;
}

static bool push(uint64_t site, bool slow, uint64_t misalign)
{
	bool good;

	patterns();
	model[n_model++] = (struct pushed){pcce_page.id, site};
	call_helper(slow ? OP_PUSH_SLOW : OP_PUSH, site, misalign);
	if (slow)
		model[n_model - 1].site = regs_out.r11;
	good = kept(slow ? regs_out.r11 : site);
	return good && matches(0) && pcce_page.ext == 0;
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
		good &= pcce_page.id == 7 && pcce_page.off == 0;
	}
	ok(good, "push and pop keep registers and red zone, on an aligned and on a misaligned stack");
	pcce_page.id = 3;
	good = push(0, true, 0) && pop(true, 8) && pcce_page.id == 3 && pcce_page.off == 0;
	ok(good, "the slow stubs go on at r11");
}

static void test_compression(void)
{
	bool good = true;

	reset();
	for (int i = 0; i < 1000; i++)
		good &= push(SITE(1), false, 0);
	good &= pcce_page.off == 16 && pcce_page.entry[0].site >> PCCE_SITE_BITS == 999;
	pcce_page.id = 1;
	good &= push(SITE(1), false, 0) && pcce_page.off == 32;
	good &= push(SITE(2), false, 0) && pcce_page.off == 48;
	for (int i = 0; i < 1002; i++)
		good &= pop(false, 0);
	good &= pcce_page.off == 0 && pcce_page.id == 0;
	ok(good, "equal id and site as the top entry: counted; another id or site: a new entry");

	reset();
	good = true;
	for (unsigned int i = 0; i < 70000; i++)
		call_helper(OP_PUSH, SITE(1), 0);
	good = pcce_page.off == 32 && pcce_page.entry[0].site == (SITE(1) | PCCE_COUNT_MAX << PCCE_SITE_BITS) &&
	       pcce_page.entry[1].site == (SITE(1) | (uint64_t)(70000 - PCCE_COUNT_MAX - 2) << PCCE_SITE_BITS);
	ok(good, "a count stops at PCCE_COUNT_MAX and a new entry begins");
	for (unsigned int i = 0; i < 70000; i++)
		call_helper(OP_POP, 1, 0);
	ok(pcce_page.off == 0 && pcce_page.id == 0, "and is popped again");
}

static void fill_page(void)
{
	for (unsigned int i = 0; i < PCCE_PAGE_ENTRIES; i++) {
		pcce_page.id = i + 1;
		model[n_model++] = (struct pushed){i + 1, SITE(i)};
		call_helper(OP_PUSH, SITE(i), 0);
	}
}

static void test_spill(void)
{
	bool good;

	reset();
	fill_page();
	ok(matches(0) && pcce_page.off == PCCE_OFF_LIMIT && !pcce_page.spill,
	   "the page holds PCCE_PAGE_ENTRIES entries");
	pcce_page.id = 1000;
	good = push(SITE(1000), false, 8);
	good &= pcce_page.off == PCCE_OFF_SPILLED && pcce_page.spill != 0 &&
		pcce_page.entry[PCCE_PAGE_ENTRIES].site == (PCCE_MARK_WORD | 1);
	ok(good, "the next one goes to the spill area, and the marker says so");
	good = true;
	for (int i = 0; i < 100; i++) {
		pcce_page.id = 1000;
		good &= push(SITE(1000), i & 1, 0);
	}
	good &= pcce_page.entry[PCCE_PAGE_ENTRIES].site == (PCCE_MARK_WORD | 101);
	ok(good, "spilled entries are not compressed");
	while (n_model)
		good &= pop(n_model & 1, 0);
	ok(good && pcce_page.off == 0, "and all are popped");
}

static void test_capacity(void)
{
	uint64_t n = PCCE_SPILL_ENTRIES + 10;
	bool good = true;

	reset();
	fill_page();
	for (uint64_t i = 0; i < n; i++) {
		pcce_page.id = i + 5;
		call_helper(OP_PUSH, SITE(i), 0);
	}
	ok((pcce_page.entry[PCCE_PAGE_ENTRIES].site & PCCE_SITE_MASK) == n, "n counts on beyond the capacity");
	for (uint64_t i = n; i-- > 0;) {
		call_helper(OP_POP, 1, 0);
		good &= pcce_page.id == (i >= PCCE_SPILL_ENTRIES ? PCCE_ID_LOST : i + 5);
	}
	ok(good && pcce_page.off == PCCE_OFF_LIMIT, "ids beyond it are lost, those within it are not");
}

/* In a child, which has no area yet and may not have one. */
static void test_refused(void)
{
	struct rlimit none = {1 << 20, 1 << 20};
	int status;

	if (fork() == 0) {
		bool good = true;

		pcce_page.spill = 0;
		setrlimit(RLIMIT_AS, &none);
		reset();
		fill_page();
		for (int i = 0; i < 50; i++) {
			pcce_page.id = 17;
			patterns();
			call_helper(OP_PUSH, SITE(i), i & 8);
			good &= kept(SITE(i)) && pcce_page.id == 0 && pcce_page.ext == 0;
		}
		good &= !pcce_page.spill && pcce_page.entry[PCCE_PAGE_ENTRIES].site == (PCCE_MARK_WORD | 50);
		for (int i = 0; i < 50; i++) {
			patterns();
			call_helper(OP_POP, 1, 0);
			good &= kept(1) && pcce_page.id == PCCE_ID_LOST;
		}
		good &= pcce_page.off == PCCE_OFF_LIMIT;
		for (unsigned int i = PCCE_PAGE_ENTRIES; i-- > 0;) {
			call_helper(OP_POP, 1, 0);
			good &= pcce_page.id == i + 1;
		}
		_exit(good ? 0 : 1);
	}
	wait(&status);
	ok(status == 0, "without an area n counts, ids are lost, and the page's entries stay right");
}

static void test_empty(void)
{
	reset();
	pcce_page.id = 4;
	call_helper(OP_POP, 1, 0);
	ok(pcce_page.off == 0 && pcce_page.id == PCCE_ID_LOST, "a pop too many loses the id and nothing else");
	ok(pcce_page.base.site >> PCCE_SITE_BITS != 0, "an inline pop on an empty stack takes the slow path");
	reset();
	pcce_page.off = 0xfffffff0;
	call_helper(OP_PUSH, SITE(1), 0);
	ok(pcce_page.off == 16 && pcce_page.entry[0].site == SITE(1), "a push onto no stack of ours begins a new one");
}

static void test_restore(void)
{
	uint64_t word;
	uint32_t off;
	bool good;

	reset();
	pcce_page.id = 5;
	push(SITE(1), false, 0);
	push(SITE(2), false, 0);
	push(SITE(2), false, 0);
	off = pcce_page.off;
	word = pcce_page.entry[off / 16 - 1].site;
	for (int i = 0; i < 30; i++)
		call_helper(OP_PUSH, SITE(2), 0);
	pcce_page.id = 77;
	call_helper(OP_PUSH, SITE(3), 0);
	pcce_page.ext = 9;
	__pcce_restore(42, off, word);
	ok(matches(42) && pcce_page.ext == 9, "restore takes back counts and entries");

	reset();
	fill_page();
	for (int i = 0; i < 10; i++) {
		pcce_page.id = 1000 + (uint64_t)i;
		push(SITE(1000 + i), false, 0);
	}
	off = pcce_page.off;
	word = pcce_page.entry[PCCE_PAGE_ENTRIES].site;
	for (int i = 0; i < 100; i++)
		call_helper(OP_PUSH, SITE(i), 0);
	__pcce_restore(43, off, word);
	good = matches(43);
	for (int i = 0; i < 100; i++)
		call_helper(OP_PUSH, SITE(i), 0);
	__pcce_restore(44, 32, pcce_page.entry[1].site);
	n_model = 2;
	good &= matches(44);
	n_model = 0;
	__pcce_restore(45, 0, 0);
	good &= matches(45) && pcce_page.base.site != 0;
	ok(good, "restore from a spilled state to a spilled, a shorter and an empty one");
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
	bool contiguous = true, in_helpers = true;

	/* Push, pop, their stubs and __pcce_restore without gap; then what other parts of the runtime say. */
	for (size_t i = 0; i < n_helpers; i++) {
		const struct pcce_table_helper *h = &helpers[i];

		if (in_helpers)
			contiguous &= h->addr == end && h->state <= PCCE_HELPER_RESTORING;
		else
			contiguous &= h->addr >= end && h->state == PCCE_HELPER_RESTORING;
		contiguous &= h->length > 0 && h->addr + h->length <= entries.text_end;
		in_helpers &= h->state != PCCE_HELPER_RESTORING;
		end = h->addr + h->length;
	}
	contiguous &= !in_helpers && entries.pop_slow < end;
	ok(contiguous, "the ranges cover the helpers without gap, in order");
	ok(helper_at(entries.push_slow) && helper_at(entries.pop_slow) && helper_at(entries.pop) &&
		   helper_at((uintptr_t)__pcce_restore)->state == PCCE_HELPER_RESTORING && !helper_at(end),
	   "and the slow stubs and the restoration");
	ok(entries.text <= entries.push && end < entries.text_end && entries.tls_insn >= entries.text &&
		   entries.tls_insn < entries.text_end,
	   "text covers all");
	ok(memcmp((void *)(uintptr_t)entries.tls_insn, "\x49\xc7\xc3", 3) == 0 &&
		   *(int32_t *)(uintptr_t)(entries.tls_insn + 3) + (char *)__builtin_thread_pointer() == (char *)page,
	   "tls_insn was relaxed to the page's offset");
}

int main(void)
{
	page = &pcce_page;
	test_ranges();
	test_simple();
	test_compression();
	test_spill();
	test_capacity();
	test_refused();
	test_empty();
	test_restore();
	test_random();
	reset();
	return done_testing();
}
