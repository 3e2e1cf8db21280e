/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Has functions whose stack is scrubbed when they end. GCC puts some into wrappers, gives others
 * another parameter, and surrounds their calls by calls of its library. One is recursive, one is
 * called through a pointer, one is left by longjmp.
 *
 * needs: GCC 14
 * marked: 3
 * flags: -O2 -fstrub=strict
 * expect: (^|;)main;.*inner.*;burn( |;)
 * expect: (^|;)main;.*deep.*;burn( |;)
 */
#include <setjmp.h>
#include "burn.h"

#define INNER __attribute__((strub("internal"), noinline))
#define CALLS __attribute__((strub("at-calls"), noinline))
#define CALLABLE __attribute__((strub("callable"), noinline))

static volatile unsigned int sum;
static jmp_buf back;

CALLABLE static void count(unsigned int n)
{
	burn(n);
	sum += n;
}

INNER static unsigned int inner(unsigned int n)
{
	volatile unsigned int secret[16] = {n};

	count(n % 64 + 50);
	return secret[n % 16] + 1;
}

CALLS static unsigned int deep(unsigned int n)
{
	volatile unsigned int secret[4] = {n};

	count(60);
	return n ? deep(n - 1) + secret[0] : n + 1;
}

static unsigned int (*volatile through)(unsigned int) = inner;

INNER static unsigned int leave(unsigned int n)
{
	count(n % 3);
	if (n % 2)
		__builtin_longjmp((void **)back, 1);
	return n;
}

static NOINLINE unsigned int return_to(unsigned int n)
{
	if (__builtin_setjmp((void **)back)) {
		count(2);
		return 1;
	}
	return leave(n);
}

int main(void)
{
	for (unsigned int i = 0; i < ROUNDS(2000000, 12); i++) {
		sum += inner(i) + through(i);
		sum += deep(i % 5);
		sum += return_to(i);
	}
	printf("%u\n", sum);
	return 0;
}
