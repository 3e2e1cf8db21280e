/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tests the check of a context against the real stack. It must find every difference, and none that
 * only the unwinder causes.
 */
#include <string.h>
#include <pcce/sites.h>
#include "tests/unit/decode_fixture.h"
#include "tests/unit/tap.h"
#include "decode/verify.h"

static uint64_t stack[64];

static void on_stack(uint64_t pc)
{
	stack[sample.n_stack++] = pc;
}

/* The return address of a call. */
static void returns_to(uint32_t site)
{
	on_stack(exe(exe_site(site)->key + exe_site(site)->ret));
}

static void outermost(void)
{
	on_stack(LIBC_BASE + 0x100);
}

static void start(uint64_t ip, uint64_t id)
{
	begin(ip, id);
	sample.flags = PCCE_SAMPLE_STACK;
	on_stack(ip);
}

static void expect(const char *name, enum verify_result want)
{
	struct decode_context ctx = {0};
	enum verify_result got;

	decode_sample(&fx.as, &sample, entries, sample.n_entries, false, false, &ctx);
	got = verify_context(&fx.as, &sample, stack, &ctx);
	tap_ok(got == want, name, "wanted %d, got %d for \"%s\"", want, got, render(&ctx));
	decode_context_free(&ctx);
}

/* rec, four times over, under c, b, main. */
static void recursion(int calls)
{
	start(exe(0x5001), 0);
	push_exe(1, S_C_REC, 0);
	push_exe(0, S_REC_REC, 2);
	for (int i = 0; i < calls; i++)
		returns_to(S_REC_REC);
	returns_to(S_C_REC);
	returns_to(S_B_C);
	returns_to(S_MAIN_B);
	outermost();
}

static void test_plain(void)
{
	recursion(3);
	expect("recursion", VERIFY_AGREES);
	recursion(2);
	expect("one call less", VERIFY_MISMATCH);
	recursion(4);
	expect("one call more", VERIFY_MISMATCH);
	recursion(3);
	stack[0] = sample.ip = exe(0x6001);
	expect("no comparison without a context", VERIFY_NONE);
	recursion(3);
	stack[5] = exe(exe_site(S_A_C)->key + 5);
	expect("another caller", VERIFY_MISMATCH);
	recursion(3);
	stack[4] -= 5;
	expect("not quite at the return address", VERIFY_MISMATCH);
	recursion(3);
	stack[4] -= 1;
	expect("within the call, as after endbr64", VERIFY_AGREES);
	recursion(3);
	sample.flags = 0;
	expect("no stack", VERIFY_NONE);
	recursion(3);
	sample.flags |= PCCE_SAMPLE_OUTSIDE;
	expect("no page", VERIFY_NONE);
}

static void test_ends_early(void)
{
	recursion(3);
	sample.n_stack = 3;
	expect("the unwinder ended early without saying so", VERIFY_UNVERIFIABLE);
	recursion(3);
	sample.n_stack = 3;
	sample.flags |= PCCE_SAMPLE_UNWIND_BAD;
	expect("the unwinder gave up", VERIFY_UNVERIFIABLE);
	stack[2] = exe(exe_site(S_MAIN_B)->key + 5);
	expect("the unwinder gave up, but what it gave differs", VERIFY_MISMATCH);
	recursion(3);
	sample.n_stack = 7;
	stack[6] = LIBC_BASE;
	expect("the stack is whole, and ends before the context", VERIFY_MISMATCH);
}

static void test_passes_over(void)
{
	start(exe(0xa001), 0);
	push_exe(1, S_C_QSORT, 0);
	on_stack(LIBC_BASE + 0x200);
	on_stack(LIBC_BASE + 0x300);
	returns_to(S_C_QSORT);
	returns_to(S_B_C);
	returns_to(S_MAIN_B);
	outermost();
	expect("foreign frames between", VERIFY_AGREES);
	start(exe(0x8001), 2);
	returns_to(S_C_T1);
	returns_to(S_B_C);
	returns_to(S_MAIN_B);
	outermost();
	expect("a tail call", VERIFY_AGREES);
	start(exe(PUSH_BEFORE), 0);
	sample.r11 = exe(exe_site(S_REC_REC)->key);
	push_exe(1, S_C_REC, 0);
	on_stack(exe(exe_site(S_REC_REC)->key - 1)); /* back from the helper */
	returns_to(S_C_REC);
	returns_to(S_B_C);
	returns_to(S_MAIN_B);
	outermost();
	expect("a push helper", VERIFY_AGREES);
	for (int way = 0; way < 3; way++) {
		start(exe(0xef00), 0); /* the runtime, on the way to another segment for a push */
		sample.ext = exe(exe_site(S_REC_REC)->key);
		push_exe(1, S_C_REC, 0);
		on_stack(exe(way == 0 ? PUSH_BEFORE + 8
				      : 0xef08)); /* called, or left for it by a jump */
		on_stack(exe(exe_site(way == 2 ? S_C_REC : S_REC_REC)->key));
		returns_to(S_C_REC);
		returns_to(S_B_C);
		returns_to(S_MAIN_B);
		outermost();
		expect(way == 2 ? "... for another function"
				: "a push helper on the way to another segment",
		       way == 2 ? VERIFY_MISMATCH : VERIFY_AGREES);
	}
	start(exe(0xa001), 0);
	push_exe(1, S_C_REC, 0);
	push(0, exe(0x5000), PCCE_COUNT_SIGNAL); /* rec was interrupted at its first instruction */
	push(0, 0, PCCE_COUNT_SIGNAL2);
	on_stack(LIBC_BASE + 0x400);
	on_stack(exe(0x5000));
	returns_to(S_C_REC);
	returns_to(S_B_C);
	returns_to(S_MAIN_B);
	outermost();
	expect("a signal handler", VERIFY_AGREES);
}

static void test_gap(void)
{
	start(exe(0x5001), 0);
	push_exe(0, S_REC_REC, 0);
	sample.n_below = 10;
	for (int i = 0; i < 20; i++)
		returns_to(S_REC_REC);
	returns_to(S_C_REC);
	returns_to(S_B_C);
	returns_to(S_MAIN_B);
	outermost();
	expect("what is behind a gap is not compared", VERIFY_AGREES);
	stack[1] = exe(exe_site(S_A_C)->key + 5);
	expect("what is before it is", VERIFY_MISMATCH);
}

/* c pushes for a longjmp to b, say: the stack is already b's. */
static void jump(void)
{
	start(LIBC_BASE + 0x500, 0);
	push_exe(1, S_C_QSORT, 0);
	on_stack(exe(0x3100));
	returns_to(S_MAIN_B);
	outermost();
}

/* c throws: the walk has found a frame that is not there, then the real ones. */
static void thrown(void)
{
	start(LIBC_BASE + 0x500, 0);
	push_exe(1, S_C_QSORT, 0);
	on_stack(exe(0x2100));
	returns_to(S_MAIN_A);
	returns_to(S_B_C);
	returns_to(S_MAIN_B);
	outermost();
}

static void test_jumps(void)
{
	struct pcce_table_site *s = (struct pcce_table_site *)exe_site(S_C_QSORT);
	uint16_t flags = s->flags;

	jump();
	expect("a stack that is not the context's", VERIFY_MISMATCH);
	s->flags |= PCCE_SITE_NORETURN;
	expect("a jump that is being made", VERIFY_UNVERIFIABLE);
	stack[1] = exe(0x2100);
	expect("a jump to where the context does not say", VERIFY_MISMATCH);
	jump();
	stack[2] = exe(exe_site(S_MAIN_A)->key + 5);
	expect("a jump, and an outer frame that differs", VERIFY_MISMATCH);
	jump();
	for (int i = 0; i < 9; i++)
		returns_to(S_MAIN_B);
	expect("a jump, and more frames than the context has", VERIFY_MISMATCH);
	jump();
	sample.ip = stack[0] = exe(0x4001);
	sample.id = 1;
	sample.n_entries = 0;
	expect("no jump in instrumented code", VERIFY_MISMATCH);
	thrown();
	expect("a jump is not made of two frames", VERIFY_MISMATCH);
	s->flags |= PCCE_SITE_THROWS;
	expect("the end of a throw may be", VERIFY_UNVERIFIABLE);
	stack[4] = exe(exe_site(S_MAIN_A)->key + 5);
	expect("but its outermost frames are the context's", VERIFY_MISMATCH);
	s->flags = flags;
}

int main(void)
{
	fixture_init(&fx);
	test_plain();
	test_ends_early();
	test_passes_over();
	test_gap();
	test_jumps();
	fixture_free(&fx);
	return tap_done();
}
