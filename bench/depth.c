/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * depth N MILLISECONDS WAY
 *
 * Makes N nested calls, then computes for MILLISECONDS.  With WAY "same" all calls come from one
 * site, and the encoding compresses them.  With "mixed" they come from three sites in random order,
 * which the encoding cannot compress.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile unsigned int sink;

static unsigned long long clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (unsigned long long)t.tv_sec * 1000 + (unsigned long long)t.tv_nsec / 1000000;
}

static __attribute__((noinline)) void busy(unsigned long long milliseconds)
{
	unsigned long long end = clock_ms() + milliseconds;

	while (clock_ms() < end)
		for (int i = 0; i < 100000; i++)
			sink++;
}

static int mixed;

static __attribute__((noinline)) void nest_calls(unsigned int n, unsigned int state,
						 unsigned long long milliseconds)
{
	state = state * 1664525u + 1013904223u;
	if (n == 0)
		busy(milliseconds);
	else if (!mixed || state >> 30 == 0)
		nest_calls(n - 1, state, milliseconds);
	else if (state >> 31)
		nest_calls(n - 1, state + 1, milliseconds);
	else
		nest_calls(n - 1, state + 2, milliseconds);
	sink++;
}

int main(int argc, char **argv)
{
	mixed = argc > 3 && !strcmp(argv[3], "mixed");
	nest_calls(argc > 1 ? (unsigned int)atoi(argv[1]) : 10, 1,
		   argc > 2 ? (unsigned long long)atoi(argv[2]) : 1000);
	printf("%u\n", sink > 0);
	return 0;
}
