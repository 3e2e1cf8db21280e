/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Makes non-local entries in C.  Each must find the state that its function was entered with. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include "page.h"

#define noinline __attribute__((noinline, noclone))

static jmp_buf env;
static void *buffer[5];
static volatile int depth;

noinline static void leave_by_longjmp(int v)
{
	page_damage();
	if (depth-- > 0)
		leave_by_longjmp(v);
	longjmp(env, v);
}

noinline static int by_setjmp(unsigned long id, unsigned int off)
{
	volatile int rounds = 0;
	int v;

	v = setjmp(env);
	page_expect(id, off, v ? "setjmp, again" : "setjmp, first");
	if (++rounds < 4) {
		depth = rounds;
		leave_by_longjmp(rounds);
	}
	return v;
}

noinline static void leave_by_builtin(void)
{
	page_damage();
	__builtin_longjmp(buffer, 1);
}

noinline static int by_builtin_setjmp(unsigned long id, unsigned int off)
{
	volatile int rounds = 0;

	if (__builtin_setjmp(buffer)) {
		page_expect(id, off, "__builtin_setjmp, again");
		if (rounds >= 3)
			return rounds;
	}
	page_expect(id, off, "__builtin_setjmp");
	rounds++;
	leave_by_builtin();
	return -1;
}

#ifdef __GNUC__
noinline static int by_goto(unsigned long id, unsigned int off)
{
	__label__ out;
	volatile int rounds = 0;

	noinline void leave(int n)
	{
		page_damage();
		if (n)
			leave(n - 1);
		goto out;
	}
	leave(3);
	return -1;
out:
	page_expect(id, off, "non-local goto");
	if (++rounds < 3)
		leave(rounds);
	return rounds;
}
#endif

int main(void)
{
	for (int i = 1; i < 4; i++) {
		page_set(i * 10, i * 16);
		if (by_setjmp(i * 10, i * 16) != 3)
			return 1;
		page_expect(i * 10, i * 16, "after setjmp");
		if (by_builtin_setjmp(i * 10, i * 16) != 3)
			return 1;
		if (by_goto(i * 10, i * 16) != 3)
			return 1;
		page_expect(i * 10, i * 16, "at the end");
	}
	if (!page_restores)
		return 1;
	puts("restored");
	return 0;
}
