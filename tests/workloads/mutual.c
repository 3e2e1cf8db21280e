/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs a cycle of three functions, entered at two of them.
 *
 * flags: -O1
 * expect: (^|;)main;a;.*b;.*c;.*burn( |;)
 * expect: (^|;)main;enter_b;b;
 */
#include "burn.h"

static NOINLINE unsigned int b(unsigned int n);
static NOINLINE unsigned int c(unsigned int n);

static NOINLINE unsigned int a(unsigned int n)
{
	unsigned int r;

	if (n == 0)
		return 1;
	r = b(n - 1);
	burn(40);
	return r + 1;
}

static NOINLINE unsigned int b(unsigned int n)
{
	unsigned int r;

	if (n == 0)
		return 2;
	r = n % 5 ? c(n - 1) : a(n - 1);
	burn(60);
	return r + 2;
}

static NOINLINE unsigned int c(unsigned int n)
{
	unsigned int r;

	burn(20);
	if (n == 0)
		return 3;
	r = n % 7 ? a(n - 1) : b(n - 1) + c(n / 2);
	return r + 3;
}

static NOINLINE unsigned int enter_b(unsigned int n)
{
	unsigned int r = b(n);

	burn(1);
	return r;
}

int main(void)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < ROUNDS(300000, 64); i++) {
		sum += a(i % 64);
		sum += enter_b(i % 48);
	}
	printf("%u\n", sum);
	return 0;
}
