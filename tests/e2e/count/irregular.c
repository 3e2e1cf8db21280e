/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Nests calls through three sites in irregular order, so that each needs an entry of the encoding
 * stack, and each call has a context of its own. Prints the number of calls.
 *
 *   irregular DEPTH
 */
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned int sink;
static unsigned int state = 5, calls = 1; /* main */

static NOINLINE void down(unsigned int depth);

static NOINLINE void one(unsigned int depth)
{
	calls++;
	down(depth);
	sink++;
}

static NOINLINE void two(unsigned int depth)
{
	calls++;
	down(depth);
	sink--;
}

static NOINLINE void down(unsigned int depth)
{
	calls++;
	state = state * 1664525u + 1013904223u;
	if (!depth)
		return;
	if ((state >> 16) % 3 == 0)
		one(depth - 1);
	else if ((state >> 16) % 3 == 1)
		two(depth - 1);
	else
		down(depth - 1);
	sink++;
}

int main(int argc, char **argv)
{
	(void)argc;
	down((unsigned int)atoi(argv[1]));
	printf("%u\n", calls);
	return 0;
}
