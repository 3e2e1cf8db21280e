/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What hybrid encoding distinguishes: frames of different and of equal sizes, contexts with an id
 * of 0 and others in one function, a frame that is not fixed, recursion, a callback, and a leaf
 * callee. Each is a chain that the depth of the stack tells apart, or cannot.
 *
 * flags: -O2
 * expect: (^|;)main;(wide|narrow);shared;leaf;
 * expect: (^|;)main;again;again;again;again;again;shared;leaf;
 * expect: (^|;)main;moving;leaf;
 * expect: (^|;)main;.*compare;left;leaf;
 * min-depth: 8
 */
#include <string.h>
#include "burn.h"

static NOINLINE unsigned int leaf(unsigned int n)
{
	char text[64];

	snprintf(text, sizeof(text), "%u", n);
	burn(60);
	return (unsigned int)strlen(text) + n;
}

static NOINLINE unsigned int left(unsigned int n)
{
	volatile char room[100];

	room[0] = (char)n;
	return leaf(n) + (unsigned char)room[0];
}

static NOINLINE unsigned int right(unsigned int n)
{
	volatile char room[200];

	room[0] = (char)n;
	return leaf(n + 1) + (unsigned char)room[0];
}

/* Both of its calls of a function have the same depth. */
static NOINLINE unsigned int shared(unsigned int n)
{
	return left(n) + right(n) + left(n + 1) + leaf(n);
}

/* The assembly moves the stack pointer, and no unwind information says so. Unwinders fail there, so
 * only the single-stepper has it. */
static NOINLINE unsigned int flags_of(unsigned int n)
{
	unsigned long flags = 0;

	burnt += leaf(n);
#ifdef PCCE_STEPPED
	__asm__ volatile("sub $128, %%rsp; pushfq; pop %0; nop; sub $-128, %%rsp"
			 : "=r"(flags)
			 :
			 : "memory", "cc");
#endif
	return (unsigned int)flags & 1;
}

/* All of its contexts are explicit if its caller's calls before conflict, and it ends with a tail
 * call. */
static NOINLINE unsigned int ending(unsigned int n)
{
	burnt += left(n) + left(n + 1);
	return left(n + 2);
}

static NOINLINE unsigned int wide(unsigned int n)
{
	volatile char room[400];

	room[0] = (char)n;
	return shared(n) + left(n) + flags_of(n) + (unsigned char)room[0];
}

static NOINLINE unsigned int narrow(unsigned int n)
{
	return shared(n) + wide(n) + right(n) + flags_of(n) + left(n) + ending(n) + left(n + 2);
}

static NOINLINE unsigned int again(unsigned int n)
{
	unsigned int below = n ? again(n - 1) : narrow(20);

	return below ^ shared(3);
}

static NOINLINE unsigned int moving(unsigned int n)
{
	volatile char *room = __builtin_alloca(n * 8 + 8);

	room[n] = (char)n;
	return leaf(n) + (unsigned char)room[n];
}

static int compare(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	burnt += left(2);
	return x < y ? -1 : x > y;
}

int main(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < ROUNDS(25000, 3); i++) {
		unsigned int list[4] = {3, 1, 2, i};

		sum += wide(10) + narrow(5) + again(4) + moving(i & 7);
		qsort(list, 4, sizeof(list[0]), compare);
		sum += list[i % 4];
	}
	printf("%u\n", sum);
	return 0;
}
