/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes tail calls that must be jumps at every optimisation level: in a chain, in a long cycle,
 * through pointers, to a leaf callee.
 *
 * needs: GCC 15
 * expect: (^|;)main;.*last;burn( |;)
 * expect: (^|;)main;.*target_(one|two);burn( |;)
 * no-verify: a tail call leaves no frame for the unwinder to find
 */
#include <string.h>
#include "burn.h"

#define MUSTTAIL __attribute__((musttail))

typedef unsigned int fn(unsigned int n);

static NOINLINE unsigned int last(unsigned int n)
{
	burn(200);
	return n;
}

static NOINLINE unsigned int middle(unsigned int n)
{
	burn(20);
	MUSTTAIL return last(n + 1);
}

static NOINLINE unsigned int first(unsigned int n)
{
	burn(20);
	if (n % 3 == 0)
		MUSTTAIL return last(n);
	MUSTTAIL return middle(n + 1);
}

static NOINLINE unsigned int odd(unsigned int n);

static NOINLINE unsigned int even(unsigned int n)
{
	if (n == 0)
		return 1;
	burnt++;
	MUSTTAIL return odd(n - 1);
}

static NOINLINE unsigned int odd(unsigned int n)
{
	if (n == 0)
		return 0;
	burnt++;
	MUSTTAIL return even(n - 1);
}

static NOINLINE unsigned int target_one(unsigned int n)
{
	burn(150);
	return n + 1;
}

static NOINLINE unsigned int target_two(unsigned int n)
{
	burn(250);
	MUSTTAIL return target_one(n + 1);
}

static fn *volatile targets[] = {target_one, target_two};

static NOINLINE unsigned int jump(unsigned int n)
{
	burn(10);
	MUSTTAIL return targets[n & 1](n);
}

static NOINLINE unsigned long length(const char *text)
{
	burn(2);
	MUSTTAIL return strlen(text);
}

int main(void)
{
	static const char *volatile text = "four";
	unsigned int sum = 0;

	for (unsigned int i = 0; i < ROUNDS(1000000, 40); i++) {
		sum += first(i);
		sum += jump(i);
		sum += (unsigned int)length(text);
		if (i % 100000 == 0)
			sum += even(ROUNDS(1000000, 300));
	}
	printf("%u\n", sum);
	return 0;
}
