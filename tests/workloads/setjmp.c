/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Jumps by longjmp out of a recursion of varying depth, many times, with calls of every kind in
 * progress; also uses sigsetjmp.
 *
 * marked: 2
 * step: --restoring=0
 * expect: (^|;)main;attempt;parse;.*burn( |;)
 * expect: (^|;)main;after_jump;burn( |;)
 */
#include <setjmp.h>
#include "burn.h"

static jmp_buf fail;
static sigjmp_buf sigfail;

typedef void step(unsigned int depth, unsigned int *state);
static step parse;
static step *volatile through_pointer = parse;

static NOINLINE void parse(unsigned int depth, unsigned int *state)
{
	unsigned int r = next_random(state);

	burn(60);
	if (depth == 0) {
		if (r & 1)
			longjmp(fail, 1);
		siglongjmp(sigfail, 2);
	}
	if (r & 2)
		parse(depth - 1, state);
	else
		through_pointer(depth - 1, state);
	burn(1);
}

static NOINLINE unsigned int attempt(unsigned int depth, unsigned int *state)
{
	volatile unsigned int how = 0;

	if (setjmp(fail)) {
		how = 1;
	} else if (sigsetjmp(sigfail, 0)) {
		how = 2;
	} else {
		parse(depth, state);
		how = 3;
	}
	burn(30);
	return how;
}

static NOINLINE void after_jump(void)
{
	burn(600);
}

int main(void)
{
	unsigned int state = 11, sum = 0;

	for (unsigned int i = 0; i < ROUNDS(300000, 40); i++) {
		sum = sum * 3 + attempt(i % 40, &state);
		after_jump();
	}
	printf("%u\n", sum);
	return 0;
}
