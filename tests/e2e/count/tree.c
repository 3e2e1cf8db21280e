/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A tree of calls without hot contexts, as a random number generator chooses them. */
#include <stdio.h>
#include <stdlib.h>

static unsigned int state = 1, calls;

static unsigned int below(unsigned int n)
{
	state = state * 1103515245u + 12345;
	return (state >> 16) % n;
}

static void go(int n);

#define F(name)                                           \
	__attribute__((noinline)) static void name(int n) \
	{                                                 \
		calls++;                                  \
		go(n);                                    \
		__asm__ volatile("");                     \
	}
F(a)
F(b)
F(c)
F(d)

static void go(int n)
{
	static void (*const by_pointer)(int) = d;
	if (n <= 0)
		return;
	switch (below(5)) {
	case 0:
		a(n - 1);
		a(n - 2);
		break;
	case 1:
		b(n - 1);
		break;
	case 2:
		by_pointer(n - 1);
		break;
	default:
		c(n - 1);
		b(n - 3);
	}
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100, depth = argc > 2 ? atoi(argv[2]) : 16;
	for (int i = 0; i < n; i++)
		a(depth);
	printf("%u\n", calls);
	return 0;
}
