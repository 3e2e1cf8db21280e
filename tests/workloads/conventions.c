/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls functions that save no register for their caller, directly, through pointers and
 * recursively. Values that live across these calls come out of the stack unharmed. GCC 14 and 15
 * know one of the two attributes, but compile recursion with it to an endless loop, also without
 * pcce.
 *
 * needs: GCC 16
 * flags: -O2 -mnoreturn-no-callee-saved-registers
 * expect: (^|;)main;keeps;saves_nothing;.*burn( |;)
 * no-verify: libunwind does not know functions that save no register
 */
#include <setjmp.h>
#include "burn.h"

#define SAVES_NOTHING __attribute__((no_callee_saved_registers, noinline, noclone))
#define PRESERVES_NOTHING __attribute__((preserve_none, noinline, noclone))

typedef unsigned int nothing(unsigned int n) __attribute__((no_callee_saved_registers));

static volatile unsigned int sum;
static jmp_buf back;

static NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum += n;
	return n + 1;
}

SAVES_NOTHING static unsigned int saves_nothing(unsigned int n)
{
	unsigned int a = count(n + 100), b = count(a & 3), c = count(b);

	return n ? a + b + c + saves_nothing(n - 1) : c;
}

PRESERVES_NOTHING static unsigned int preserves_nothing(unsigned int a, unsigned int b,
							unsigned int c, unsigned int d,
							unsigned int e, unsigned int f)
{
	unsigned int r = count(a) + count(b) * count(c);

	if (a)
		r += preserves_nothing(a - 1, f, e, d, c, b);
	return r + count(d) + e * f;
}

static nothing *volatile through = saves_nothing;

static NOINLINE unsigned int keeps(unsigned int n)
{
	unsigned int a = n * 3, b = n + 7, c = n ^ 5, d = n | 8;

	for (unsigned int i = 0; i < 3; i++) {
		a += through(i) ^ b;
		b += saves_nothing(i) + c;
		c ^= preserves_nothing(i, a & 3, b & 3, c & 3, d & 3, 1) + d;
		d += a;
	}
	return a + b * c - d;
}

static NOINLINE _Noreturn void leave(unsigned int n)
{
	count(n);
	longjmp(back, 1);
}

static NOINLINE unsigned int return_to(unsigned int n)
{
	if (setjmp(back))
		return count(2);
	leave(n % 4);
}

int main(void)
{
	for (unsigned int i = 0; i < ROUNDS(600000, 6); i++)
		sum += keeps(i) + return_to(i);
	printf("%u\n", sum);
	return 0;
}
