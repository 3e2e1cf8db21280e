/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Recurses, and works in the innermost 8 frames for ever.
 *
 *   recurse DEPTH
 */
#include <stdlib.h>

static volatile unsigned int sum;

static __attribute__((noinline)) void recurse(int left)
{
	do {
		if (left)
			recurse(left - 1);
		for (int i = 0; i < 1000; i++)
			sum += (unsigned int)i;
	} while (left == 8);
	sum++;
}

int main(int argc, char **argv)
{
	recurse(argc > 1 ? atoi(argv[1]) : 100);
	return 0;
}
