/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests each rule of the decoder on the process of decode_fixture.c, at every byte of every slot.
 * test_decode_random.c tests random runs.
 */
#include <stdio.h>
#include <string.h>
#include "tests/unit/decode_fixture.h"
#include "tests/unit/tap.h"

static bool origins; /* contexts go on where the thread was created */

static bool decodes(const char *want, enum decode_status status, enum decode_reason reason,
		    char *got, size_t size)
{
	struct decode_context ctx = {0};
	bool good;

	if (decode_sample(&fx.as, &sample, entries, sample.n_entries, false, origins, &ctx)) {
		snprintf(got, size, "no memory");
		return false;
	}
	render(&ctx);
	good = !strcmp(text, want) && ctx.status == status && ctx.reason == reason;
	snprintf(got, size, "wanted \"%s\" (%d, %s), got \"%.700s\" (%d, %s)", want, status,
		 decode_reason_name(reason), text, ctx.status, decode_reason_name(ctx.reason));
	decode_context_free(&ctx);
	return good;
}

static void expect_as(const char *name, const char *want, enum decode_status status,
		      enum decode_reason reason)
{
	char got[1024];
	bool good = decodes(want, status, reason, got, sizeof(got));

	tap_ok(good, name, "%s", got);
}

static void expect(const char *name, const char *want)
{
	expect_as(name, want, DECODE_EXACT, DECODE_REASON_NONE);
}

static void expect_bad(const char *name, const char *want, enum decode_reason reason)
{
	expect_as(name, want, DECODE_UNDECODABLE, reason);
}

static void call_from_c(uint32_t site)
{
	push_exe(1, site, 0); /* c, called by b */
}

/* ---- windows --------------------------------------------------------------------- */

/* Every byte offset of a site's slots and call: before [claim, applied) the id is the caller's, in
 * force up to undone. state(phase) sets the sample up: 0 not done, 1 claimed, 2 in force. */
static void each_offset(const char *name, const struct pcce_table_site *s, uint64_t base,
			void (*state)(int phase), const char *want)
{
	uint64_t start = s->key - s->before, ret = s->key + s->ret, end = ret + s->after_len;
	char got[1024] = "";
	bool good = true;
	uint64_t at;

	for (at = start; at < end && good; at++) {
		int phase = at >= ret		      ? (at - ret < s->undone ? 2 : 0)
			    : at - start < s->claim   ? 0
			    : at - start < s->applied ? 1
						      : 2;

		begin(base + at, 0);
		state(phase);
		good = decodes(want, DECODE_EXACT, DECODE_REASON_NONE, got, sizeof(got));
	}
	tap_ok(good, name, "at offset %llu: %s", (unsigned long long)(at - 1 - start), got);
}

static void state_plain(int phase)
{
	(void)phase;
	sample.id = 0;
}

static void state_add(int phase)
{
	sample.id = phase == 2 ? 1 : 0;
}

static void state_ext(int phase)
{
	sample.id = 1;
	sample.ext = phase == 2 ? exe_site(S_C_EXT)->key : 0;
}

static void state_push(int phase)
{
	push_exe(1, S_C_REC, 0);
	sample.id = 0;
	if (phase == 2)
		push_exe(0, S_REC_REC, 0);
}

static void state_push_repeated(int phase)
{
	push_exe(1, S_C_REC, 0);
	push_exe(0, S_REC_REC, phase == 2 ? 5 : 4);
	sample.id = 0;
}

static void state_inline(int phase)
{
	push_exe(1, S_C_REC, 0);
	sample.id = 0;
	if (phase == 1)
		push(0xdeadbeef, 0x12345, 77); /* claimed, not filled: whatever was there before */
	if (phase == 2)
		push_exe(0, S_REC_WORK, 0);
}

static void state_leaf(int phase)
{
	sample.id = 1 + (phase == 2 ? 1ULL << 32 : 0);
}

static void state_lib_ext(int phase)
{
	sample.id = 7;
	call_from_c(S_C_LIB);
	sample.ext = phase == 2 ? lib(fx.lib.sites[LS_INNER_EXT].key) : 0;
}

static void test_windows(void)
{
	each_offset("window: none", exe_site(S_MAIN_A), EXE_BASE, state_plain, "main");
	each_offset("window: add", exe_site(S_B_C), EXE_BASE, state_add, "b main");
	each_offset("window: add to the upper half", exe_site(S_C_LEAF), EXE_BASE, state_leaf,
		    "c b main");
	each_offset("window: ext", exe_site(S_C_EXT), EXE_BASE, state_ext, "c b main");
	each_offset("window: ext in a library", &fx.lib.sites[LS_INNER_EXT], LIB_BASE,
		    state_lib_ext, "lib_inner lib_tail lib_entry~ c b main");
	each_offset("window: push by a helper", exe_site(S_REC_REC), EXE_BASE, state_push,
		    "rec c b main");
	each_offset("window: push that is a repetition", exe_site(S_REC_REC), EXE_BASE,
		    state_push_repeated, "rec rec*5/1 c b main");
	each_offset("window: inline push", exe_site(S_REC_WORK), EXE_BASE, state_inline,
		    "rec c b main");

	begin(exe(exe_site(S_C_RESTORE)->key), 1);
	expect_bad("window: restore", "c ?", DECODE_REASON_RESTORING);
	begin(exe(exe_site(S_C_RESTORE)->key + 15), 1);
	expect_bad("window: restore, its last byte", "c ?", DECODE_REASON_RESTORING);
	begin(exe(exe_site(S_C_RESTORE)->key + 16), 1);
	expect("after a restore window", "c b main");
	begin(exe(exe_site(S_T1_TAIL)->key), 2);
	expect("the jump of a tail call", "t1 c b main");

	begin(exe(exe_site(S_REC_REC)->key), 0);
	push_exe(1, S_C_REC, 0);
	expect_bad("push in force, but another site on top", "rec ?", DECODE_REASON_UNKNOWN_SITE);
	begin(exe(exe_site(S_REC_REC)->key), 0);
	expect_bad("push in force, but nothing on the stack", "rec ?", DECODE_REASON_UNKNOWN_SITE);
	begin(exe(exe_site(S_B_C)->key), 0);
	expect_bad("add in force, but the id is less", "b ?", DECODE_REASON_NO_EDGE);
}

/* ---- helpers --------------------------------------------------------------------- */

/* In rec, called by c, pushing for rec -> rec; r11 as in a push or in a pop. */
static void in_helper(uint64_t base, uint64_t ip, uint32_t site, bool pop)
{
	const struct pcce_table_site *s = exe_site(site);

	begin(base + ip, 0);
	sample.r11 = exe(pop ? s->key + s->ret + s->after_len : s->key);
	push_exe(1, S_C_REC, 0);
}

static void test_helpers(void)
{
	/* A library has helpers of its own; which ones are used makes no difference. */
	static const uint64_t bases[] = {EXE_BASE, LIB_BASE};

	for (int i = 0; i < 2; i++) {
		uint64_t base = bases[i];

		in_helper(base, PUSH_BEFORE + 3, S_REC_REC, false);
		expect("helper: push not begun", "rec c b main");
		in_helper(base, PUSH_CLAIMED, S_REC_REC, false);
		push(0x1234, 0x777, 3);
		expect("helper: push has claimed", "rec c b main");
		in_helper(base, PUSH_DONE, S_REC_REC, false);
		push_exe(0, S_REC_REC, 0);
		expect("helper: pushed", "rec c b main");
		in_helper(base, PUSH_DONE, S_REC_REC, false);
		push_exe(0, S_REC_REC, 2);
		expect("helper: pushed a repetition", "rec rec*2/1 c b main");
		in_helper(base, POP_BEFORE, S_REC_REC, true);
		push_exe(0, S_REC_REC, 0);
		expect("helper: pop not done", "rec c b main");
		in_helper(base, POP_DONE, S_REC_REC, true);
		expect("helper: pop done", "rec c b main");
		in_helper(base, PUSH_BEFORE, S_REC_WORK, false);
		expect("helper: slow path of an inline push", "rec c b main");
		in_helper(base, RESTORING, S_REC_REC, false);
		expect_bad("helper: restoring", base == EXE_BASE ? "[exe] ?" : "[lib] ?",
			   DECODE_REASON_RESTORING);
	}
	in_helper(EXE_BASE, PUSH_BEFORE, S_REC_REC, false);
	sample.r11 += 1;
	expect_bad("helper: r11 names no site", "?", DECODE_REASON_UNKNOWN_SITE);
	in_helper(EXE_BASE, PUSH_BEFORE, S_REC_REC, false);
	sample.r11 = 0;
	expect_bad("helper: r11 is 0", "?", DECODE_REASON_UNKNOWN_SITE);
	in_helper(EXE_BASE, PUSH_BEFORE, S_B_C, false);
	expect_bad("helper: r11 names a site that does not push", "?", DECODE_REASON_UNKNOWN_SITE);
	in_helper(EXE_BASE, PUSH_DONE, S_REC_REC, false);
	expect_bad("helper: the top entry is another site's", "rec ?", DECODE_REASON_UNKNOWN_SITE);
	in_helper(EXE_BASE, PUSH_BEFORE, S_REC_REC, false);
	sample.ext = exe_site(S_C_EXT)->key;
	expect_bad("helper: ext is set", "rec ?", DECODE_REASON_STALE_EXT);
}

/* ---- foreign code and ext -------------------------------------------------------- */

static void test_foreign(void)
{
	begin(LIBC_BASE + 5, 0);
	expect("before main", "[libc]");
	begin(0x1234, 0);
	expect("code that is mapped from no file", "[]");
	begin(exe(0xe000), 0);
	expect("startup code of the executable", "[exe]");
	begin(LIBC_BASE + 5, 1);
	sample.ext = exe_site(S_C_EXT)->key;
	expect("ext, link-time address", "[libc] c b main");
	begin(exe(0xe000), 1);
	sample.ext = exe_site(S_C_EXT)->key;
	expect("ext, ip in a PLT stub", "[exe] c b main");
	begin(LIBC_BASE + 5, 7);
	call_from_c(S_C_LIB);
	sample.ext = lib(fx.lib.sites[LS_INNER_EXT].key);
	expect("ext: run-time address, library", "[libc] lib_inner lib_tail lib_entry~ c b main");
	begin(LIBC_BASE + 5, 0);
	call_from_c(S_C_QSORT);
	expect("pushed and outside", "[libc] c b main");
	begin(LIBC_BASE + 5, 0);
	call_from_c(S_C_OUT);
	expect("outside by a tail call", "[libc] out~ c b main");
	begin(LIBC_BASE + 5, 3);
	expect("outside, with what a callback has left in the id", "[libc]");
	begin(LIBC_BASE + 5, 1);
	sample.ext = exe_site(S_C_REC)->key;
	expect_bad("ext names a push", "[libc] ?", DECODE_REASON_UNKNOWN_SITE);
	begin(LIBC_BASE + 5, 1);
	sample.ext = 0x99;
	expect_bad("ext names nothing", "[libc] ?", DECODE_REASON_UNKNOWN_SITE);
	begin(exe(0x4800 - 1), 1);
	sample.ext = exe_site(S_C_EXT)->key;
	expect_bad("ext is stale", "c ?", DECODE_REASON_STALE_EXT);
	begin(exe(exe_site(S_C_REC)->key), 1);
	sample.ext = exe_site(S_C_EXT)->key;
	expect_bad("ext is another site's", "c ?", DECODE_REASON_STALE_EXT);
	begin(exe(0xd810), 1);
	sample.ext = exe_site(S_C_BARE)->key;
	expect("ext names the call of a function that calls nothing", "bare c b main");
	begin(exe(0xd810), 1);
	sample.ext = exe_site(S_C_EXT)->key;
	expect_bad("ext names the call of another one", "bare ?", DECODE_REASON_STALE_EXT);
	begin(LIBC_BASE + 5, 1);
	sample.ext = exe_site(S_C_BARE)->key;
	expect_bad("or that, outside of it", "[libc] ?", DECODE_REASON_STALE_EXT);
	begin(lib(fx.lib.sites[LS_INNER_EXT].key), 7);
	sample.ext = fx.lib.sites[LS_INNER_EXT].key;
	expect_bad("a short ext is the executable's", "lib_inner ?", DECODE_REASON_STALE_EXT);
}

/* ---- segments -------------------------------------------------------------------- */

static void test_segments(void)
{
	begin(exe(0x4001), 0);
	expect("id 0", "c a main");
	begin(exe(0x4001), 1);
	expect("id 1", "c b main");
	begin(exe(0x4001), 2);
	push_exe(1, S_C_REC, 0);
	push_exe(0, S_REC_WORK, 0);
	expect("two pushes", "c work rec c b main");
	begin(exe(0x4001), 3);
	expect_bad("no such id", "c ?", DECODE_REASON_NO_EDGE);
	begin(exe(0x2001), 1ULL << 40);
	expect_bad("an id far too large", "a ?", DECODE_REASON_NO_EDGE);
	begin(exe(0x4001), PCCE_ID_LOST + 1);
	expect_bad("a lost id", "c ?", DECODE_REASON_LOST_ID);
	begin(LIBC_BASE, PCCE_ID_LOST);
	expect_bad("a lost id, outside", "[libc] ?", DECODE_REASON_LOST_ID);
	begin(exe(0x5001), 0);
	push_exe(2, S_C_REC, 0);
	expect("the stack ends in a root", "rec c work");
	begin(exe(0x5001), 0);
	push_exe(0, S_C_RESTORE, 0);
	expect_bad("an entry's site does not push", "rec ?", DECODE_REASON_UNKNOWN_SITE);
	begin(exe(0x5001), 0);
	push(0, LIBC_BASE, 0);
	expect_bad("an entry's site is in foreign code", "rec ?", DECODE_REASON_UNKNOWN_SITE);
	begin(exe(0x5001), 0);
	push(0, 0, 0);
	expect_bad("an entry's site is 0", "rec ?", DECODE_REASON_UNKNOWN_SITE);
	begin(exe(0x6001), 0);
	call_from_c(S_C_REC);
	expect_bad("a direct push leads elsewhere", "work ?", DECODE_REASON_WRONG_CALLEE);
	begin(exe(0x9001), 0);
	call_from_c(S_C_OUT);
	expect("a direct push leads to its callee", "out c b main");
	begin(exe(0x6001), 0);
	call_from_c(S_C_OUT);
	expect("a direct push, then a tail call through a pointer", "work out~ c b main");
	begin(exe(0xa001), 0);
	call_from_c(S_C_QSORT);
	expect("a callback", "cb [] c b main");
	begin(lib(0x1001), 0);
	call_from_c(S_C_LIB);
	expect("a call into a library", "lib_entry c b main");
	begin(lib(0x2001), 0);
	call_from_c(S_C_LIB);
	expect("a call into a library, and a tail call there", "lib_tail lib_entry~ c b main");
	begin(exe(0xa001), 0);
	call_from_c(S_C_LIB);
	push(7, lib(fx.lib.sites[LS_INNER_CALL].key), 0);
	expect("a library calls back", "cb lib_inner lib_tail lib_entry~ c b main");
	begin(exe(0x7001), 2);
	expect("before a tail call", "t1 c b main");
	begin(exe(0x8001), 2);
	expect("after a tail call", "t2 t1~ c b main");
	begin(exe(0x8001), 0);
	push_exe(0, S_CB_T1, 0);
	expect("a direct push, then a tail call", "t2 t1~ cb");
	begin(exe(0xd001), 0);
	push_exe(0, S_CB_G, 0);
	expect("a direct push, then either of two chains of tail calls", "g4 g1~ cb");
	begin(exe(0xd001), 0);
	push_exe(0, S_CB_NAMED, 0);
	expect("a push by name, then either of two chains of tail calls", "g4 g1~ cb");
	begin(exe(0x8001), 0);
	push_exe(0, S_CB_NAMED, 0);
	expect("a push by name, and no tail call leads here", "t2 [] cb");
	begin(exe(0x8001), 0);
	push_exe(0, S_CB_G, 0);
	expect_bad("a direct push; no tail call leads here", "t2 ?", DECODE_REASON_WRONG_CALLEE);
	begin(exe(0x3001), 0);
	sample.flags = PCCE_SAMPLE_OUTSIDE;
	expect_as("no page", "b", DECODE_OUTSIDE, DECODE_REASON_NONE);
	begin(exe(0x3001), 0);
	sample.flags = PCCE_SAMPLE_READ_FAULT;
	expect_bad("the page could not be read", "b ?", DECODE_REASON_READ_FAULT);
	begin(LIBC_BASE, 0);
	sample.flags = PCCE_SAMPLE_KERNEL;
	call_from_c(S_C_QSORT);
	expect("in the kernel", "[libc] c b main");
}

static void test_repeats(void)
{
	begin(exe(0x5001), 0);
	call_from_c(S_C_REC);
	push_exe(0, S_REC_REC, 9);
	expect("recursion", "rec rec*10/1 c b main");
	begin(exe(0x4001), 2);
	call_from_c(S_C_REC);
	push_exe(0, S_REC_REC, PCCE_COUNT_MAX);
	push_exe(0, S_REC_REC, 1);
	push_exe(0, S_REC_WORK, 0);
	expect("recursion beyond one entry's count", "c work rec rec*2/1 rec*65520/1 c b main");
	begin(exe(0xa001), 0);
	push_exe(0, S_MAIN_QSORT, 2);
	expect("repetition through foreign code", "cb [] main*3/2");
	begin(exe(0x9001), 0);
	push_exe(2, S_C_OUT, 2);
	expect("the first repetition hangs on something else", "out c work out~ c work*2/3");
	begin(exe(0x5001), 0);
	push_exe(1, S_C_REC, 1);
	expect_bad("a repetition that the site cannot reach", "rec c b main ?",
		   DECODE_REASON_WRONG_CALLEE);
}

static void test_signals(void)
{
	begin(exe(0xa001), 0);
	push_exe(1, S_C_REC, 0);
	push(0, exe(0x5001), PCCE_COUNT_SIGNAL);
	push(0, 0, PCCE_COUNT_SIGNAL2);
	expect("a handler", "cb ! rec c b main");
	begin(exe(0xa001), 0);
	push(1, LIBC_BASE + 9, PCCE_COUNT_SIGNAL);
	push(exe_site(S_C_EXT)->key, 0, PCCE_COUNT_SIGNAL2);
	expect("a handler that interrupted a leaf function", "cb ! [libc] c b main");
	begin(exe(0xa001), 0);
	push_exe(1, S_C_REC, 0);
	push(0xbad, 0xbad, 0);
	push(0, exe(PUSH_CLAIMED), PCCE_COUNT_SIGNAL);
	push(0, exe(exe_site(S_REC_REC)->key), PCCE_COUNT_SIGNAL2);
	expect("a handler that interrupted a push helper", "cb ! rec c b main");
	begin(exe(0xa001), 0);
	push(0, exe(0x5001), PCCE_COUNT_SIGNAL);
	expect_bad("half of a signal", "cb ! ?", DECODE_REASON_UNKNOWN_SITE);
	begin(exe(0xa001), 0);
	push(0, 0, PCCE_COUNT_SIGNAL2);
	expect_bad("the other half of a signal", "cb ! ?", DECODE_REASON_UNKNOWN_SITE);
	begin(exe(0xa001), 0);
	push(0, 0, PCCE_COUNT_MARK);
	expect_bad("a base among the entries", "cb ! ?", DECODE_REASON_UNKNOWN_SITE);
}

static void test_called_as_leaf(void)
{
	begin(exe(0xa001), 0);
	push(1, exe_site(S_C_EXT)->key, PCCE_COUNT_LEAF);
	push(0, 0, PCCE_COUNT_FILL);
	expect("a function in place of a leaf, or called by one", "cb [] c b main");
	begin(exe(0x5001), 0);
	push(1, exe_site(S_C_EXT)->key, PCCE_COUNT_LEAF);
	push(0, 0, PCCE_COUNT_FILL);
	push_exe(0, S_REC_REC, 2);
	expect("and what that calls", "rec rec*3/1 [] c b main");
	begin(LIBC_BASE + 9, 0);
	push(1, exe_site(S_C_EXT)->key, PCCE_COUNT_LEAF);
	push(0, 0, PCCE_COUNT_FILL);
	expect("on the way to it", "[libc] c b main");
	begin(exe(0xa001), 0);
	push(1, PCCE_EXT_CHANGING, PCCE_COUNT_LEAF);
	push(0, 0, PCCE_COUNT_FILL);
	expect_bad("called by the runtime at work", "cb [] ?", DECODE_REASON_RESTORING);
	begin(exe(0xa001), 0);
	push(1, 0, PCCE_COUNT_LEAF);
	expect_bad("called as a leaf by nobody", "cb ?", DECODE_REASON_UNKNOWN_SITE);
	begin(exe(0xa001), 0);
	push(1, exe(0xa001), PCCE_COUNT_LEAF);
	expect_bad("called as a leaf by what is no site", "cb [] ?", DECODE_REASON_UNKNOWN_SITE);
}

/* c, called by work, has jumped to its own setjmp from far inside; ip is anywhere. Its state was id
 * 2 above the entry of rec -> work, which has since been repeated. */
static void jumping(uint64_t ip, uint64_t repeated)
{
	begin(ip, 0);
	push_exe(1, S_C_REC, 0);
	push_exe(0, S_REC_REC, 2);
	push_exe(0, S_REC_WORK, repeated);
	push_exe(2, S_C_QSORT, 0);
}

static void push_record(uint64_t off, uint64_t word)
{
	push(2, (uint64_t)sample.n_below << 16 | off, PCCE_COUNT_JUMP);
	push(word, exe_site(S_C_SETJMP)->key, PCCE_COUNT_JUMP2);
	sample.ext = exe_site(S_C_SETJMP)->key;
}

static void test_jumps(void)
{
	const uint64_t work = exe(exe_site(S_REC_WORK)->key),
		       window = exe(exe_site(S_C_RESTORE)->key);
	static const char target[] = "c work rec rec*3/1 c b main";

	begin(window, 1);
	sample.ext = exe_site(S_C_SETJMP)->key;
	expect("jump: the first return", "c b main");
	sample.ip = exe(RESTORING);
	expect("jump: restoring after the first return", "c b main");

	jumping(LIBC_BASE, 0);
	push_record(48, work);
	expect("jump: still in longjmp", "[libc] c work rec rec*3/1 c b main");
	jumping(exe(JUMPING + 3), 0);
	push(0xdead, 0xbeef, 3);
	push(0xdead, 0xbeef, 4);
	expect("jump: the record is claimed", "[exe] c work rec rec*3/1 c b main");
	sample.ip = exe(JUMPING + 16);
	expect_bad("jump: not claimed, but there", "[exe] ?", DECODE_REASON_UNKNOWN_SITE);

	/* Two claimed entries, and what made room for the handler in the next segment. */
	begin(exe(0xa001), 0);
	for (int i = 0; i < 13; i++)
		push_exe(0, S_REC_REC, 0);
	push(0xdead, 0xbeef, 3);
	push(0xdead, 0xbeef, 4);
	push(0, 0, PCCE_COUNT_FILL);
	push(0, exe(JUMPING + 3), PCCE_COUNT_SIGNAL);
	push(0, 0, PCCE_COUNT_SIGNAL2);
	expect_bad("jump: claimed below a fill entry", "cb ! [exe] ?", DECODE_REASON_RESTORING);

	jumping(window, 0);
	push_record(48, work);
	expect("jump: it has ended", target);
	sample.ip = exe(RESTORING + 5);
	expect("jump: restoring", target);
	jumping(window, 3);
	push_record(48, work);
	expect("jump: a repetition more is forgotten", target);
	jumping(window, 0);
	push_record(48, work | 1ULL << PCCE_SITE_BITS);
	expect_bad("jump: fewer repetitions than there were", "c ?", DECODE_REASON_UNKNOWN_SITE);
	jumping(window, 0);
	push_record(48, work + 1);
	expect_bad("jump: another entry than there was", "c ?", DECODE_REASON_UNKNOWN_SITE);
	jumping(window, 0);
	push_record(112, work);
	expect_bad("jump: upwards", "c ?", DECODE_REASON_UNKNOWN_SITE);
	jumping(window, 0);
	push_record(48, work);
	sample.ext = exe_site(S_C_EXT)->key;
	expect_bad("jump: ext names another site", "c ?", DECODE_REASON_RESTORING);
	jumping(window, 0);
	push_record(48, work);
	sample.ext = 0;
	expect_bad("jump: ext names none", "c ?", DECODE_REASON_RESTORING);

	jumping(window, 0);
	sample.n_below = 3;
	push_record(48, work);
	expect_as("jump: below it entries are missing", "c work rec rec*3/1 c b main ?",
		  DECODE_TRUNCATED, DECODE_REASON_NONE);
	jumping(window, 0);
	sample.n_below = 3;
	push_record(0, work);
	sample.n_below = 4;
	expect_as("jump: to a missing entry", "c work ?", DECODE_TRUNCATED, DECODE_REASON_NONE);
	jumping(window, 0);
	push_record(PCCE_OFF_HALF + 48, work);
	expect("jump: within the upper half", target);
	jumping(window, 0);
	entries[0] = entries[1];
	push_record(0, 0xdead);
	expect_as("jump: to an empty segment, whose base has no site", "c work", DECODE_EXACT,
		  DECODE_REASON_NONE);

	jumping(LIBC_BASE, 0);
	push_record(48, work);
	push(0, LIBC_BASE + 9, PCCE_COUNT_SIGNAL);
	push(sample.ext, 0, PCCE_COUNT_SIGNAL2);
	sample.ip = exe(0xa001);
	sample.ext = 0;
	expect("jump: a handler while longjmp runs", "cb ! [libc] c work rec rec*3/1 c b main");
	entries[sample.n_entries - 2].site = window | PCCE_COUNT_SIGNAL << PCCE_SITE_BITS;
	expect("jump: a handler where it ends", "cb ! c work rec rec*3/1 c b main");
	jumping(exe(0xa001), 0);
	push_record(48, work);
	sample.ext = 0;
	expect("jump: what longjmp calls", "cb c work rec rec*3/1 c b main");
}

/* ---- exceptions ------------------------------------------------------------------ */

/* leaf has thrown, called by c with this id; ip is there now. */
static void thrown(uint64_t ip, uint64_t id)
{
	sample.ip = ip;
	push_exe((1ULL << 32) + id, S_LEAF_THROW, 0);
}

/*
 * c called rec, which called itself that many times and then work, which called c, which called
 * leaf.
 */
static void thrown_below_rec(uint64_t ip, uint64_t times)
{
	begin(0, 0);
	push_exe(1, S_C_REC, 0);
	if (times)
		push_exe(0, S_REC_REC, times - 1);
	push_exe(0, S_REC_WORK, 0);
	thrown(ip, 2);
}

static void test_landings(void)
{
	const uint64_t in_c = exe(exe_site(S_C_RESTORE)->key),
		       in_rec = exe(exe_site(S_REC_RESTORE)->key);

	begin(0, 77);
	thrown(in_c, 1);
	expect("landing: what was called since is gone", "c b main");
	sample.ip = exe(LANDING);
	sample.r11 = in_c;
	expect("landing: in the restore helper", "c b main");
	sample.r11++;
	expect_bad("landing: r11 names none", "[exe] ?", DECODE_REASON_RESTORING);
	begin(exe(LANDED), 1);
	sample.r11 = in_c;
	expect("landing: all is restored", "c b main");

	thrown_below_rec(in_rec, 0);
	expect("landing: segments are gone", "rec c b main");
	sample.n_below = 3;
	expect_bad("landing: what is missing might be it", "rec ?", DECODE_REASON_RESTORING);
	sample.n_below = 0;
	sample.ip = in_c;
	expect_bad("landing: two calls of the function", "c ?", DECODE_REASON_RESTORING);

	thrown_below_rec(in_rec, 3);
	expect("landing: repeated calls of the function", "rec rec*2/1 c b main");
	begin(0, 0);
	push_exe(0, S_CB_REC, 0);
	push_exe(0, S_REC_REC, 3);
	push_exe(0, S_REC_WORK, 0);
	thrown(in_c, 2);
	expect("landing: further in than repeated calls", "c work rec rec*4/1 cb");

	begin(0, 0);
	thrown(in_rec, 1);
	expect_bad("landing: the function is not on the way", "rec ?", DECODE_REASON_RESTORING);
	begin(in_c, 0);
	call_from_c(S_C_QSORT);
	expect_bad("landing: nothing was thrown", "c ?", DECODE_REASON_RESTORING);
	begin(in_c, 0);
	sample.ext = PCCE_EXT_CHANGING;
	thrown(in_c, 1);
	expect_bad("landing: on the way to another segment", "c ?", DECODE_REASON_RESTORING);

	/* A handler came in between: its frames stay. */
	begin(exe(0x5001), 0);
	push_exe((1ULL << 32) + 1, S_LEAF_THROW, 0);
	push(0, in_c, PCCE_COUNT_SIGNAL);
	push(0, 0, PCCE_COUNT_SIGNAL2);
	expect("landing: a handler", "rec ! c b main");
}

/* qsort() has called work, which called c, which called qsort(), `more` times more; leaf has
 * thrown, called by c. */
static void thrown_below_qsort(uint64_t ip, uint64_t more)
{
	begin(0, 0);
	push_exe(1, S_C_QSORT, 0);
	push_exe(2, S_C_QSORT, more);
	thrown(ip, 2);
}

static void test_landing_pads(void)
{
	const uint64_t in_c = exe(exe_site(S_C_RESTORE)->key),
		       in_pad = exe(exe_site(S_REC_PAD)->key);

	thrown_below_rec(in_pad, 2);
	expect("landing pad: the innermost call that lands there", "rec rec c b main");
	sample.ip = exe(LANDING);
	sample.r11 = in_pad;
	expect("landing pad: in the restore helper", "rec rec c b main");
	entries[1].site -= 1ULL << PCCE_SITE_BITS;
	expect("landing pad: it is the only one", "rec c b main");
	sample.n_below = 3;
	expect_as("landing pad: what is missing is further out", "rec c b main ?", DECODE_TRUNCATED,
		  DECODE_REASON_NONE);

	thrown_below_rec(in_pad, 0);
	expect_bad("landing pad: no call lands there", "rec ?", DECODE_REASON_RESTORING);

	/* A handler came between two instructions of rec, and calls it. */
	begin(0, 0);
	push_exe(1, S_C_REC, 0);
	push_exe(0, S_REC_REC, 0);
	push(0, exe(0x5001), PCCE_COUNT_SIGNAL);
	push(0, 0, PCCE_COUNT_SIGNAL2);
	push_exe(0, S_REC_WORK, 0);
	thrown(in_pad, 2);
	expect_bad("landing pad: a call without site may be it", "rec ?", DECODE_REASON_RESTORING);

	thrown_below_qsort(in_c, 0);
	expect("joined pads: the innermost call that has one", "c work [] c b main");
	thrown_below_qsort(in_c, 1);
	expect("joined pads: the same in a repetition", "c work [] c work [] c b main");
	thrown_below_qsort(in_c, 3);
	expect("joined pads: and the other repetitions", "c work [] c work*3/3 [] c b main");
	begin(0, 0);
	push_exe(1, S_C_LIB, 0);
	push_exe(2, S_C_QSORT, 0);
	push_exe(2, S_C_LIB, 0);
	thrown(in_c, 2);
	expect_bad("joined pads: a call that need not land", "c ?", DECODE_REASON_RESTORING);
}

static void test_truncated(void)
{
	begin(exe(0x5001), 0);
	push_exe(0, S_REC_REC, 0);
	push_exe(0, S_REC_REC, 0);
	sample.n_below = 3;
	sample.flags = PCCE_SAMPLE_TRUNCATED;
	expect_as("old entries missing", "rec rec rec ?", DECODE_TRUNCATED, DECODE_REASON_NONE);
	begin(exe(0x5001), 0);
	sample.n_below = 1;
	expect_as("all are missing", "rec ?", DECODE_TRUNCATED, DECODE_REASON_NONE);
	sample.ip = exe(exe_site(S_REC_REC)->key + 5);
	expect_as("the entry of the id is missing", "rec ?", DECODE_TRUNCATED, DECODE_REASON_NONE);
	begin(exe(0x5001), 0);
	push_exe(1, S_C_REC, 0);
	push(0, 0, PCCE_COUNT_FILL);
	push_exe(0, S_REC_REC, 0);
	push(0, 0, PCCE_COUNT_FILL);
	expect("what fills a segment means nothing", "rec rec c b main");
	begin(exe(0x5001), 0);
	push(PCCE_ID_LOST, 0, 0);
	push_exe(0, S_REC_REC, 0);
	expect_bad("an entry that was not kept", "rec rec ?", DECODE_REASON_LOST_ID);
}

/* In the thread's own stack a push of rec by c, above a call of create by c. */
static void own_stack(uint64_t id, uint64_t needed)
{
	push(id, exe_site(S_C_EXT)->key, PCCE_COUNT_ORIGIN);
	push(needed, 0, PCCE_COUNT_ORIGIN2);
	push_exe(1, S_C_REC, 0);
}

static void expect_origin(const char *name, uint32_t n, const char *want, enum decode_status status,
			  enum decode_reason reason)
{
	struct decode_context ctx = {0};
	char got[1024] = "no memory";
	bool good = false;

	if (!decode_origin(&fx.as, entries, n, false, &ctx)) {
		render(&ctx);
		good = !strcmp(text, want) && ctx.status == status && ctx.reason == reason;
		snprintf(got, sizeof(got), "wanted \"%s\", got \"%.700s\" (%d, %s)", want, text,
			 ctx.status, decode_reason_name(ctx.reason));
	}
	decode_context_free(&ctx);
	tap_ok(good, name, "%s", got);
}

static void test_origins(void)
{
	begin(exe(0x5001), 0);
	own_stack(1, 0);
	expect("a thread's own stack", "rec c b main");
	expect_origin("what created it", 2, "@ c b main", DECODE_EXACT, DECODE_REASON_NONE);
	sample.n_below = 1;
	expect("nothing is missing if the outermost place is free", "rec c b main");
	origins = true;
	expect("both", "rec c b main @ c b main");
	begin(exe(0x5001), 0);
	push(0, 0, PCCE_COUNT_FILL);
	push_exe(1, S_C_REC, 0);
	push(0, 0, PCCE_COUNT_FILL);
	push_exe(0, S_REC_REC, 1);
	push_exe(0, S_REC_WORK, 0);
	own_stack(2, 3);
	expect("a creator with entries", "rec c b main @ c work rec rec*2/1 c b main");
	push_exe(0, S_REC_WORK, 0);
	own_stack(2, 7);
	expect("one that was created, too",
	       "rec c b main @ c work rec c b main @ c work rec rec*2/1 c b main");
	origins = false;
	expect("without them", "rec c b main");
	origins = true;
	begin(exe(0x5001), 0);
	push_exe(0, S_REC_REC, 1);
	push_exe(0, S_REC_WORK, 0);
	own_stack(2, 3);
	expect_as("its outer entries were not copied", "rec c b main @ c work rec rec*2/1 ?",
		  DECODE_TRUNCATED, DECODE_REASON_NONE);
	expect_origin("the same, alone", 4, "@ c work rec rec*2/1 ?", DECODE_TRUNCATED,
		      DECODE_REASON_NONE);
	begin(exe(0x5001), 0);
	push(0, exe(0x5001), PCCE_COUNT_SIGNAL);
	push(0, 0, PCCE_COUNT_SIGNAL2);
	push(0, exe(0x5001), PCCE_COUNT_ORIGIN);
	push(2, 0, PCCE_COUNT_ORIGIN2);
	expect_bad("a creator that called at no site", "rec @ ?", DECODE_REASON_UNKNOWN_SITE);
	origins = false;
	expect("which says nothing about the thread", "rec");
	begin(exe(0x5001), 0);
	push(0, 0, PCCE_COUNT_ORIGIN2);
	expect_bad("half of an origin", "rec ?", DECODE_REASON_UNKNOWN_SITE);
	push(0, 0, PCCE_COUNT_ORIGIN);
	expect_bad("the other half", "rec ! ?", DECODE_REASON_UNKNOWN_SITE);
	expect_origin("no entries", 0, "?", DECODE_UNDECODABLE, DECODE_REASON_UNKNOWN_SITE);
}

int main(void)
{
	fixture_init(&fx);
	test_windows();
	test_helpers();
	test_foreign();
	test_segments();
	test_repeats();
	test_signals();
	test_called_as_leaf();
	test_jumps();
	test_landings();
	test_landing_pads();
	test_truncated();
	test_origins();
	fixture_free(&fx);
	return tap_done();
}
