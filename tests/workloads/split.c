/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Has functions that optimisation splits: hot and cold parts in different sections, partial
 * inlining, clones for constants and for removed arguments, unrolled and merged calls, functions
 * with identical bodies.
 *
 * sampled: no
 * flags: -O2 -freorder-blocks-and-partition -fpartial-inlining -fipa-cp-clone -fipa-sra
 * flags: -funroll-loops -fipa-icf
 */
#include "burn.h"

static volatile unsigned int sum;

static NOINLINE void count(unsigned int n)
{
	burn(n);
	sum += n;
}

__attribute__((cold, noinline)) static void rare(unsigned int n)
{
	count(n);
	burnt++;
}

/* GCC puts the rare calls into a .cold part. */
static NOINLINE unsigned int hot(unsigned int n)
{
	if (__builtin_expect(n % 7 == 0, 0)) {
		rare(n);
		count(1);
		rare(n + 1);
	}
	count(n);
	return n * 3;
}

/* GCC inlines its beginning; the rest is a .part. */
static unsigned int early_out(unsigned int n, const unsigned int *table)
{
	unsigned int r = 0;

	if (n > 20)
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		count(table[i % 3]);
		r += hot(table[(i + 1) % 3]);
		rare(r % 2);
	}
	return r;
}

static __attribute__((noinline)) unsigned int constant(unsigned int n, unsigned int mode,
						       const unsigned int *p)
{
	unsigned int r = 0;

	for (unsigned int i = 0; i < n; i++)
		r += mode ? hot(i + *p) : hot(i) + 1;
	if (n > 1)
		r += constant(n - 1, mode, p);
	return r;
}

static NOINLINE unsigned int same_one(unsigned int n)
{
	count(n + 1);
	return hot(n);
}

static NOINLINE unsigned int same_two(unsigned int n)
{
	count(n + 1);
	return hot(n);
}

static NOINLINE void unrolled(void)
{
	for (unsigned int i = 0; i < 8; i++)
		count(i & 1);
	for (unsigned int i = 0; i < 4; i++)
		hot(i);
}

int main(void)
{
	static const unsigned int table[] = {3, 1, 2};
	unsigned int one = 1;

	for (unsigned int i = 0; i < 9; i++) {
		sum += early_out(i * 4, table) + hot(i);
		sum += i & 1 ? same_one(i) : same_two(i);
	}
	sum += constant(3, 0, &one) + constant(4, 1, &one);
	unrolled();
	printf("%u\n", sum);
	return 0;
}
