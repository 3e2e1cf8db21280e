/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Jumps and does little else: in a tight loop; over repetitions that are compressed; out of
 * signal handlers; through hundreds of nested setjmps; from and to where the thread page is
 * full; with a jmp_buf that is saved and put back.
 *
 * verify: 400 100
 * marked: 5
 * truncated: yes
 * expect: (^|;)main;tight(;| )
 * expect: (^|;)main;over_repetitions(;| )
 * expect: (^|;)main;nested(;| )
 * expect: (^|;)main;saved(;| )
 */
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include "burn.h"

static jmp_buf target;
static sigjmp_buf sigtarget;
static unsigned int sum;

static NOINLINE void leap(jmp_buf to, int value)
{
	longjmp(to, value);
}

static NOINLINE void tight(unsigned int times)
{
	volatile unsigned int left = times;

	if (setjmp(target))
		sum++;
	if (left--)
		leap(target, 1);
}

static NOINLINE void down(unsigned int depth)
{
	burn(3);
	if (depth == 0)
		leap(target, 2);
	down(depth - 1);
	burn(1);
}

/* The entry of down is the top one at inner's setjmp, and is repeated after it. */
static NOINLINE void inner(unsigned int depth, unsigned int more)
{
	if (depth) {
		inner(depth - 1, more);
		burn(1);
		return;
	}
	if (!more)
		leap(target, 2);
	if (setjmp(target) == 0)
		inner(more, 0);
	else
		burn(3);
	if (setjmp(target) == 0)
		down(more);
	burn(3);
}

static NOINLINE void over_repetitions(unsigned int depth)
{
	if (setjmp(target) == 0)
		down(depth);
	burn(5);
	inner(depth % 7, depth % 11 + 1);
}

static NOINLINE void handler_leaps(unsigned int depth)
{
	if (depth) {
		handler_leaps(depth - 1);
		burn(1);
		return;
	}
	siglongjmp(sigtarget, 3);
}

static void on_signal(int signo)
{
	jmp_buf own;

	(void)signo;
	if (setjmp(own) == 0)
		leap(own, 1);
	burn(50000);
	handler_leaps(sum++ % 3);
}

static NOINLINE void raises(unsigned int depth)
{
	if (depth)
		raises(depth - 1);
	else
		raise(SIGUSR1);
	burn(1);
}

static NOINLINE void after_signal(void)
{
	burn(1000000);
}

static NOINLINE void out_of_handler(unsigned int depth)
{
	if (sigsetjmp(sigtarget, 1) == 0)
		raises(depth);
	after_signal();
}

static jmp_buf levels[400];

static NOINLINE void jump_up(unsigned int from, unsigned int to)
{
	if (from & 1)
		leap(levels[to], 1);
	longjmp(levels[to], 1);
}

typedef void level_fn(unsigned int level, unsigned int most);
static level_fn nested;
static level_fn *volatile through_pointer = nested;

static NOINLINE void nested(unsigned int level, unsigned int most)
{
	if (setjmp(levels[level])) {
		burn(2);
		if (level)
			jump_up(level, level > 7 ? level - 7 : 0);
		return;
	}
	if (level == most)
		jump_up(level, level - 1);
	/* Alternates sites, so that entries differ and the page fills. */
	if (level & 1)
		nested(level + 1, most);
	else
		through_pointer(level + 1, most);
	burn(1);
}

static NOINLINE void far_down(unsigned int depth, unsigned int *state, unsigned int jump_at)
{
	static jmp_buf deep;

	if (depth == jump_at) {
		volatile unsigned int again = 20;

		if (setjmp(deep))
			burn(2);
		if (again--)
			leap(deep, 1);
	}
	if (depth == 0)
		leap(target, 1);
	if (next_random(state) & 1)
		far_down(depth - 1, state, jump_at);
	else
		far_down(depth - 1, state, jump_at);
	burn(1);
}

static NOINLINE void beyond_the_page(unsigned int depth, unsigned int *state)
{
	if (setjmp(target) == 0)
		far_down(depth, state, depth / 8);
	burn(3);
}

/* Works like a shell: one jmp_buf for all levels, which each level saves and restores. */
static NOINLINE void saved(unsigned int depth)
{
	jmp_buf before;

	memcpy(&before, &target, sizeof(target));
	if (setjmp(target) == 0) {
		if (depth)
			saved(depth - 1);
		leap(target, 1);
	}
	burn(2);
	memcpy(&target, &before, sizeof(target));
	if (depth & 1)
		leap(target, 1);
}

int main(void)
{
	unsigned int state = 5;

	signal(SIGUSR1, on_signal);
	for (unsigned int i = 0; i < ROUNDS(3000, 1); i++) {
		tight(ROUNDS(5000, 20));
		for (unsigned int k = 0; k < ROUNDS(40, 14); k++) {
			over_repetitions(k);
			saved(6);
		}
		/* Seldom, because the entry of a handler is marked as not decodable. */
		if (i % 1000 == 0)
			out_of_handler(i / 1000 + 3);
		nested(0, 300 + i % 90);
		beyond_the_page(270 + i % 300, &state);
	}
	printf("%u\n", sum);
	return 0;
}
