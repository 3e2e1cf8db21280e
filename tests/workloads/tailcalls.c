/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes tail calls that -O2 turns into jumps: direct ones in a chain, a cycle of a million
 * (which must not grow the stack), and one through a pointer.
 *
 * expect: (^|;)main;.*last;burn( |;)
 * expect: (^|;)main;.*target_(one|two);burn( |;)
 * no-verify: a tail call leaves no frame for the unwinder to find
 */
#include "burn.h"

typedef unsigned int fn(unsigned int n);

static NOINLINE unsigned int last(unsigned int n)
{
	burn(200);
	return n;
}

static NOINLINE unsigned int middle(unsigned int n)
{
	burn(20);
	return last(n + 1);
}

static NOINLINE unsigned int first(unsigned int n)
{
	burn(20);
	if (n % 3 == 0)
		return last(n);
	return middle(n + 1);
}

static NOINLINE unsigned int odd(unsigned int n);

static NOINLINE unsigned int even(unsigned int n)
{
	if (n == 0)
		return 1;
	burnt++;
	return odd(n - 1);
}

static NOINLINE unsigned int odd(unsigned int n)
{
	if (n == 0)
		return 0;
	burnt++;
	return even(n - 1);
}

static NOINLINE unsigned int target_one(unsigned int n)
{
	burn(150);
	return n + 1;
}

static NOINLINE unsigned int target_two(unsigned int n)
{
	burn(250);
	return n + 2;
}

static fn *volatile targets[] = {target_one, target_two};

static NOINLINE unsigned int jump(unsigned int n)
{
	burn(10);
	return targets[n & 1](n);
}

int main(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < ROUNDS(1500000, 60); i++) {
		sum += first(i);
		sum += jump(i);
		if (i % 150000 == 0)
			sum += even(ROUNDS(1000000, 300));
	}
	printf("%u\n", sum);
	return 0;
}
