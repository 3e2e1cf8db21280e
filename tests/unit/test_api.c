/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * libpcce-decode on the process of decode_fixture.c: the ways to hand over a state must all give
 * the same context.  tests/e2e/decode.sh has the rest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/decode.h>
#include "tests/unit/decode_fixture.h"
#include "tests/unit/tap.h"

#define DEEP (5 * PCCE_SEGMENT_ENTRIES + 3)
#define REC_IP exe(0x5001)

static struct pcce_decode_error why;

static struct pcce_decode_process *open_process(uint64_t flags)
{
	struct pcce_decode_module exe = {
		.path = "/bin/exe",
		.start = EXE_BASE,
		.end = EXE_BASE + MODULE_BYTES,
		.table = fx.exe_data,
		.table_size = fx.exe.head->size,
	};
	struct pcce_decode_process *p = NULL;

	if (pcce_decode_process_new(flags, &p, &why) ||
	    pcce_decode_process_add(p, &exe, sizeof(exe), &why) != 1) {
		printf("Bail out! %s\n", why.text);
		exit(1);
	}
	return p;
}

/* "rec*10/1 c b main" */
static const char *names_of(const struct pcce_decode_context *c)
{
	struct pcce_decode_frame f;
	size_t at = 0;

	text[0] = 0;
	for (size_t i = 0; !pcce_decode_context_frame(c, i, &f, sizeof(f)); i++) {
		at += append(text, sizeof(text), at, "%s%s", i ? " " : "", f.function);
		if (f.repeat)
			at += append(text, sizeof(text), at, "*%u/%u", f.repeat + 1, f.span);
	}
	return text;
}

static void gives(const char *name, int r, const struct pcce_decode_context *c, uint32_t status,
		  const char *want)
{
	bool good = !r && pcce_decode_context_status(c) == status && !strcmp(names_of(c), want);

	tap_ok(good, name, "%d %s: %.500s", r, why.text, r ? "" : text);
}

/* A recursion that does not repeat: 0, 1, 0, 2, ... calls of rec from rec and work. */
static uint32_t deep_stack(struct pcce_entry *to)
{
	to[0] = (struct pcce_entry){1, exe(exe_site(S_C_REC)->key)};
	for (uint32_t i = 1; i < DEEP; i++)
		to[i] = (struct pcce_entry){0, (i % 3 + 0ULL) << PCCE_SITE_BITS |
						       exe(exe_site(S_REC_REC)->key)};
	return DEEP;
}

static void test_state(void)
{
	struct pcce_decode_process *p = open_process(0);
	const struct pcce_decode_context *c;
	struct pcce_entry stack[] = {{1, exe(exe_site(S_C_REC)->key)},
				     {0, 9ULL << PCCE_SITE_BITS | exe(exe_site(S_REC_REC)->key)}};
	struct pcce_decode_state state = {.ip = REC_IP, .entries = stack, .n_entries = 2};
	struct pcce_decode_frame f = {0}, big[2];
	int r = pcce_decode_process_state(p, &state, sizeof(state), &c, &why);

	gives("a state", r, c, PCCE_DECODE_EXACT, "rec rec*10/1 c b main");
	tap_ok(pcce_decode_context_depth(c) == 14, "its depth", "%llu",
	       (unsigned long long)pcce_decode_context_depth(c));
	r = pcce_decode_context_frame(c, 1, &f, sizeof(f));
	tap_ok(!r && f.vaddr == exe_site(S_REC_REC)->key && f.address == exe(f.vaddr) &&
		       !strcmp(f.module, "/bin/exe") && f.kind == PCCE_DECODE_CALL,
	       "the places of a frame", "%d %#llx", r, (unsigned long long)f.vaddr);
	memset(big, 0xff, sizeof(big));
	r = pcce_decode_context_frame(c, 1, big, sizeof(big));
	tap_ok(!r && big[0].vaddr == f.vaddr && !big[1].vaddr && !big[1].kind,
	       "a later version's frame: the rest is 0", "%d", r);
	tap_ok(pcce_decode_context_frame(c, 99, &f, sizeof(f)) == -ERANGE &&
		       pcce_decode_context_frame(c, 0, &f, 8) == -EINVAL,
	       "frames that are not there", "0");
	state.missing = 1;
	r = pcce_decode_process_state(p, &state, sizeof(state), &c, &why);
	gives("entries are missing", r, c, PCCE_DECODE_TRUNCATED,
	      "rec rec*10/1 c b main [truncated]");
	state.missing = 1ULL << 33;
	r = pcce_decode_process_state(p, &state, sizeof(state), &c, &why);
	gives("as many entries as while a stack is lost", r, c, PCCE_DECODE_TRUNCATED,
	      "rec rec*10/1 c b main [truncated]");
	state.missing = 1ULL << 34;
	tap_ok(pcce_decode_process_state(p, &state, sizeof(state), &c, &why) == -EINVAL,
	       "too many entries", "0");
	state.missing = 0;
	state.id = PCCE_ID_LOST;
	r = pcce_decode_process_state(p, &state, sizeof(state), &c, &why);
	gives("a lost id", r, c, PCCE_DECODE_UNDECODABLE, "rec [undecodable: lost_id]");
	tap_ok(!r && !strcmp(pcce_decode_reason_name(pcce_decode_context_reason(c)), "lost_id"),
	       "... and its reason", "0");
	pcce_decode_process_free(p);
	p = open_process(PCCE_DECODE_EXPANDED);
	state.id = 0;
	r = pcce_decode_process_state(p, &state, sizeof(state), &c, &why);
	gives("expanded", r, c, PCCE_DECODE_EXACT,
	      "rec rec rec rec rec rec rec rec rec rec rec c b main");
	pcce_decode_process_free(p);
}

static void test_modules(void)
{
	struct pcce_decode_process *p = open_process(0);
	const struct pcce_decode_context *c;
	struct pcce_decode_module again = {.path = "/bin/exe",
					   .start = EXE_BASE + 4096,
					   .end = EXE_BASE + 8192,
					   .table = fx.exe_data,
					   .table_size = fx.exe.head->size};
	struct pcce_decode_state state = {.ip = REC_IP};
	int r = pcce_decode_process_add(p, &again, sizeof(again), &why);

	tap_ok(r == -EEXIST, "memory that is taken", "%d", r);
	again.start = EXE_BASE + MODULE_BYTES;
	again.end = again.start + 4096;
	again.table_size -= 8;
	r = pcce_decode_process_add(p, &again, sizeof(again), &why);
	tap_ok(r == -EINVAL && strstr(why.text, "/bin/exe"), "a damaged table", "%d %s", r,
	       why.text);
	again.table = NULL;
	again.path = "/no/such/file";
	r = pcce_decode_process_add(p, &again, sizeof(again), NULL);
	tap_ok(r == -ENOENT, "a file that is not there", "%d", r);
	pcce_decode_process_remove(p, EXE_BASE, EXE_BASE + 1);
	r = pcce_decode_process_state(p, &state, sizeof(state), &c, &why);
	gives("a module that was removed", r, c, PCCE_DECODE_EXACT, "[unknown]");
	pcce_decode_process_free(p);
	r = pcce_decode_process_new(1ULL << 60, &p, &why);
	tap_ok(r == -EINVAL && !p, "flags that are not known", "%d", r);
}

/* The page and the area as the runtime leaves them with this stack. */
static void make_page(struct pcce_page *page, struct pcce_segment *area,
		      const struct pcce_entry *stack, uint32_t n, bool kept)
{
	uint32_t below = n / PCCE_SEGMENT_ENTRIES, half = below & 1 ? PCCE_OFF_HALF : 0;
	struct pcce_entry *bases = &page->base;

	memset(page, 0, sizeof(*page));
	page->magic = PCCE_PAGE_MAGIC;
	page->version = PCCE_PAGE_VERSION;
	page->state = PCCE_STATE_LIVE;
	for (uint32_t i = 0; i <= below; i++) {
		bool current = i == below, other = kept && i + 1 == below;
		struct pcce_entry *base = current ? bases + half / 16
					  : other ? bases + (half ^ PCCE_OFF_HALF) / 16
						  : &area[i].base;
		uint32_t have = current ? n % PCCE_SEGMENT_ENTRIES : PCCE_SEGMENT_ENTRIES;

		if (!current && !other) {
			area[i].generation = i + 1;
			area[i].index = i;
		}
		*base = (struct pcce_entry){i, PCCE_MARK_WORD};
		memcpy(base + 1, stack + i * PCCE_SEGMENT_ENTRIES, have * sizeof(*stack));
	}
	page->off = half + n % PCCE_SEGMENT_ENTRIES * 16;
	page->place = below << PCCE_PLACE_SHIFT | (kept ? PCCE_PLACE_KEPT : 0);
}

static void test_page(void)
{
	static struct pcce_page page;
	static struct pcce_segment area[8];
	struct pcce_decode_process *p = open_process(0), *q = open_process(0);
	const struct pcce_decode_context *c, *d;
	struct pcce_entry stack[DEEP];
	struct pcce_decode_state state = {
		.ip = REC_IP, .entries = stack, .n_entries = deep_stack(stack)};
	static char want[sizeof(text)];
	int r = pcce_decode_process_state(p, &state, sizeof(state), &c, &why);

	snprintf(want, sizeof(want), "%s", r ? why.text : names_of(c));
	for (int kept = 0; kept < 2; kept++) {
		make_page(&page, area, stack, DEEP, kept);
		r = pcce_decode_process_page(q, &page, area, 8, REC_IP, 0, &d, &why);
		gives(kept ? "a page that keeps a segment" : "a page", r, d, PCCE_DECODE_EXACT,
		      want);
	}
	area[1].generation = 99;
	r = pcce_decode_process_page(q, &page, area, 8, REC_IP, 0, &d, &why);
	tap_ok(!r && pcce_decode_context_status(d) == PCCE_DECODE_TRUNCATED &&
		       pcce_decode_context_frames(d) < pcce_decode_context_frames(c) &&
		       pcce_decode_context_frames(d) > 2 * PCCE_SEGMENT_ENTRIES,
	       "a segment is of another time", "%d", r);
	r = pcce_decode_process_page(q, &page, NULL, 8, REC_IP, 0, &d, &why);
	tap_ok(!r && pcce_decode_context_status(d) == PCCE_DECODE_TRUNCATED, "no area", "%d", r);
	page.off = 12345;
	r = pcce_decode_process_page(q, &page, area, 8, REC_IP, 0, &d, &why);
	gives("a damaged page", r, d, PCCE_DECODE_UNDECODABLE, "rec [undecodable: read_fault]");
	page.version++;
	r = pcce_decode_process_page(q, &page, area, 8, REC_IP, 0, &d, &why);
	tap_ok(r == -EINVAL, "a page of another version", "%d", r);
	page.magic = 0;
	r = pcce_decode_process_page(q, &page, area, 8, REC_IP, 0, &d, &why);
	gives("no page", r, d, PCCE_DECODE_OUTSIDE, "rec [thread without pcce]");
	pcce_decode_process_free(p);
	pcce_decode_process_free(q);
}

static void test_sample(void)
{
	struct {
		struct pcce_sample sample;
		struct pcce_entry entry[2];
		struct pcce_segment below;
	} s = {.sample = {.ip = REC_IP,
			  .pid = 1,
			  .tid = 1,
			  .n_entries = 2,
			  .n_segments = 1,
			  .n_below = 1,
			  .below = 7},
	       .below = {.generation = 7, .base = {0, PCCE_MARK_WORD}}};
	struct pcce_decode_process *p = open_process(0);
	const struct pcce_decode_context *c;
	struct pcce_entry stack[DEEP];
	int r;

	deep_stack(stack);
	memcpy(s.below.entry, stack, sizeof(s.below.entry));
	memcpy(s.entry, stack + PCCE_SEGMENT_ENTRIES, sizeof(s.entry));
	r = pcce_decode_process_sample(p, &s.sample, sizeof(s), &c, &why);
	tap_ok(!r && pcce_decode_context_status(c) == PCCE_DECODE_EXACT &&
		       strstr(names_of(c), " c b main"),
	       "a sample with its segment", "%d %s", r, r ? why.text : text);
	s.sample.n_segments = 0;
	r = pcce_decode_process_sample(p, &s.sample, sizeof(s), &c, &why);
	tap_ok(!r && pcce_decode_context_status(c) == PCCE_DECODE_EXACT, "a later one without it",
	       "%d", r);
	s.sample.tid = 2;
	r = pcce_decode_process_sample(p, &s.sample, sizeof(s), &c, &why);
	tap_ok(!r && pcce_decode_context_status(c) == PCCE_DECODE_TRUNCATED,
	       "one of another thread", "%d", r);
	r = pcce_decode_process_sample(p, &s.sample, sizeof(s.sample) + 16, &c, &why);
	tap_ok(r == -EINVAL, "a sample that is cut off", "%d", r);
	s.sample.flags = PCCE_SAMPLE_KERNEL;
	s.sample.n_below = s.sample.below = s.sample.n_entries = 0;
	r = pcce_decode_process_sample(p, &s.sample, sizeof(s), &c, &why);
	gives("a sample in the kernel", r, c, PCCE_DECODE_EXACT, "[kernel] rec");
	pcce_decode_process_free(p);
}

int main(void)
{
	fixture_init(&fx);
	test_state();
	test_modules();
	test_page();
	test_sample();
	fixture_free(&fx);
	return tap_done();
}
