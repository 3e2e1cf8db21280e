/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests how restored frames are joined with a decoded context: added if both name the same call
 * from instrumented code, left out if not, and marked where some are missing.
 */
#include <string.h>
#include <pcce/sites.h>
#include "decode/restored.h"
#include "tests/unit/decode_fixture.h"
#include "tests/unit/tap.h"

static uint64_t frames[16];

/* A sample in the C library, called by c, b and main, with this id of c. */
static void in_library(uint64_t ext)
{
	begin(LIBC_BASE + 0x100, 1);
	sample.ext = ext;
	sample.flags = PCCE_SAMPLE_FRAMES;
}

static void returns_to(uint64_t address)
{
	frames[sample.n_stack++] = address;
}

static void returns_to_exe(uint32_t site)
{
	returns_to(exe(exe_site(site)->key + exe_site(site)->ret));
}

static void expect_restored(const char *name, enum restored_result want, const char *want_text)
{
	struct decode_context ctx = {0};
	enum restored_result got;
	uint64_t depth;
	bool good;

	decode_sample(&fx.as, &sample, entries, sample.n_entries, false, false, &ctx);
	depth = ctx.depth - ctx.n;
	if (restored_add(&fx.as, &sample, frames, &ctx, &got))
		got = RESTORED_NONE;
	good = !strcmp(render(&ctx), want_text) && got == want && ctx.depth == depth + ctx.n;
	for (size_t i = 0; i < ctx.n; i++)
		good &= !ctx.frames[i].restored || ctx.frames[i].kind == DECODE_FRAME_FOREIGN;
	tap_ok(good, name, "wanted %d \"%s\", got %d \"%s\"", want, want_text, got, text);
	decode_context_free(&ctx);
}

static void test_leaf_callee(void)
{
	in_library(exe_site(S_C_EXT)->key);
	returns_to_exe(S_C_EXT);
	expect_restored("the library function was called directly", RESTORED_WHOLE,
			"[libc] c b main");
	in_library(exe_site(S_C_EXT)->key);
	returns_to(LIBC_BASE + 0x200);
	returns_to(LIBC_BASE + 0x300);
	returns_to_exe(S_C_EXT);
	expect_restored("two frames are between", RESTORED_WHOLE, "[libc] [libc] [libc] c b main");
	sample.flags = 0;
	expect_restored("without the flag nothing is added", RESTORED_NONE, "[libc] c b main");
	in_library(exe_site(S_C_EXT)->key);
	returns_to(LIBC_BASE + 0x200);
	returns_to_exe(S_C_QSORT);
	expect_restored("they lead to another call of the same function", RESTORED_MISMATCH,
			"[libc] c b main");
	in_library(exe_site(S_C_EXT)->key);
	returns_to_exe(S_MAIN_B);
	expect_restored("they lead to another function", RESTORED_MISMATCH, "[libc] c b main");
	in_library(exe_site(S_C_EXT)->key);
	returns_to(LIBC_BASE + 0x200);
	expect_restored("they end, as on the stack of a child of posix_spawn()", RESTORED_PART,
			"[libc] [libc] ? c b main");
}

static void test_missing(void)
{
	in_library(exe_site(S_C_EXT)->key);
	sample.flags |= PCCE_SAMPLE_FRAMES_PARTIAL;
	expect_restored("none could be restored", RESTORED_FAILED, "[libc] ? c b main");
	returns_to(LIBC_BASE + 0x200);
	expect_restored("only one could be restored", RESTORED_PART, "[libc] [libc] ? c b main");
}

static void test_push(void)
{
	begin(LIBC_BASE + 0x100, 0);
	sample.flags = PCCE_SAMPLE_FRAMES;
	push_exe(1, S_C_QSORT, 0);
	returns_to(LIBC_BASE + 0x200);
	returns_to_exe(S_C_QSORT);
	expect_restored("the call was a push", RESTORED_WHOLE, "[libc] [libc] c b main");
	frames[1]--;
	expect_restored("an address within the call is the same call", RESTORED_WHOLE,
			"[libc] [libc] c b main");
	frames[1] = exe(exe_site(S_C_QSORT)->key + exe_site(S_C_QSORT)->restore_len);
	expect_restored("... before the call", RESTORED_MISMATCH, "[libc] c b main");
}

/* The runtime moves to another segment for a pop. */
static void test_pop(void)
{
	const struct pcce_table_site *s = exe_site(S_C_REC);

	begin(LIBC_BASE + 0x100, 0);
	sample.flags = PCCE_SAMPLE_FRAMES;
	push_exe(1, S_C_REC, 0);
	sample.ext = exe(s->key + s->ret + s->after_len);
	returns_to(sample.ext);
	expect_restored("a pop called the runtime", RESTORED_WHOLE, "[libc] c b main");
	frames[0] = exe(s->key + s->ret + s->undone);
	expect_restored("... and nops follow it in the slot", RESTORED_WHOLE, "[libc] c b main");
	frames[0]--;
	expect_restored("... no call ends here in the slot", RESTORED_MISMATCH, "[libc] c b main");
	frames[0] = sample.ext + 1;
	expect_restored("... another slot did", RESTORED_MISMATCH, "[libc] c b main");
}

static void test_no_caller(void)
{
	begin(LIBC_BASE + 0x100, 0);
	sample.flags = PCCE_SAMPLE_FRAMES;
	returns_to(LIBC_BASE + 0x200);
	expect_restored("nothing instrumented has run yet", RESTORED_WHOLE, "[libc] [libc]");
	returns_to_exe(S_C_EXT);
	expect_restored("but the frames say that it has", RESTORED_MISMATCH, "[libc]");
}

static void test_other_samples(void)
{
	begin(exe(0x5001), 0);
	sample.flags = PCCE_SAMPLE_FRAMES;
	push_exe(1, S_C_REC, 0);
	returns_to(LIBC_BASE + 0x200);
	expect_restored("a sample in instrumented code needs no frames", RESTORED_NONE,
			"rec c b main");
	in_library(exe_site(S_C_EXT)->key);
	sample.flags |= PCCE_SAMPLE_OUTSIDE;
	returns_to(LIBC_BASE + 0x200);
	returns_to_exe(S_C_EXT);
	returns_to_exe(S_MAIN_B);
	expect_restored("a thread without a page: the whole stack", RESTORED_WHOLE,
			"[libc] [libc] [exe] [exe]");
	sample.flags |= PCCE_SAMPLE_FRAMES_PARTIAL;
	expect_restored("... and a part of it", RESTORED_PART, "[libc] [libc] [exe] [exe] ?");
}

static void test_signal(void)
{
	begin(LIBC_BASE + 0x100, 0);
	sample.flags = PCCE_SAMPLE_FRAMES;
	push(1, exe(exe_site(S_C_QSORT)->key), 0);
	push(0, LIBC_BASE + 0x500, PCCE_COUNT_SIGNAL);
	push(0, 0, PCCE_COUNT_SIGNAL2);
	returns_to(LIBC_BASE + 0x200);
	returns_to(LIBC_BASE + 0x500);
	returns_to_exe(S_C_QSORT);
	expect_restored("a handler in the library interrupted the library", RESTORED_PART,
			"[libc] [libc] ! [libc] c b main");
	frames[1]++;
	expect_restored("... but not there", RESTORED_MISMATCH, "[libc] ! [libc] c b main");
}

static void test_jump(void)
{
	struct pcce_table_site *s = (struct pcce_table_site *)exe_site(S_C_QSORT);

	s->flags |= PCCE_SITE_NORETURN;
	begin(LIBC_BASE + 0x100, 0);
	sample.flags = PCCE_SAMPLE_FRAMES;
	push_exe(1, S_C_QSORT, 0);
	returns_to(LIBC_BASE + 0x200);
	returns_to_exe(S_MAIN_B);
	expect_restored("a call that does not return jumps to main", RESTORED_FAILED,
			"[libc] ? c b main");
	sample.n_stack = 1;
	returns_to_exe(S_REC_REC);
	expect_restored("... to a function that is not in the context", RESTORED_MISMATCH,
			"[libc] c b main");
	sample.n_stack = 1;
	returns_to_exe(S_C_QSORT);
	expect_restored("... or has not begun to jump", RESTORED_WHOLE, "[libc] [libc] c b main");
	s->flags &= ~PCCE_SITE_NORETURN;
	begin(LIBC_BASE + 0x100, 0);
	sample.flags = PCCE_SAMPLE_FRAMES;
	push_exe(1, S_C_QSORT, 0);
	push(2, 16, PCCE_COUNT_JUMP);
	push(0, exe_site(S_C_SETJMP)->key, PCCE_COUNT_JUMP2);
	sample.ext = exe_site(S_C_SETJMP)->key;
	returns_to_exe(S_C_SETJMP);
	expect_restored("longjmp is about to arrive at its setjmp", RESTORED_FAILED,
			"[libc] ? c b main");
	sample.n_stack = 0;
	returns_to_exe(S_C_EXT);
	expect_restored("... elsewhere", RESTORED_MISMATCH, "[libc] c b main");
}

int main(void)
{
	fixture_init(&fx);
	test_leaf_callee();
	test_missing();
	test_push();
	test_pop();
	test_no_caller();
	test_other_samples();
	test_signal();
	test_jump();
	fixture_free(&fx);
	return tap_done();
}
