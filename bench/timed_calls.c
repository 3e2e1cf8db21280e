// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls a function that does nothing, at a depth of calls, and prints the CPU time of one call:
 *
 *   timed_calls CALLS direct|pointer|other
 *
 * other: a pointer that leads to a function which is not timed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE int timed(int k)
{
	__asm__ volatile("");
	return k + 1;
}

NOINLINE int other(int k)
{
	__asm__ volatile("");
	return k + 2;
}

static int (*volatile pointer)(int) = timed;

NOINLINE static int call_directly(long n)
{
	int sum = 0;

	for (long i = 0; i < n; i++)
		sum += timed(sum);
	return sum;
}

NOINLINE static int call_pointer(long n)
{
	int sum = 0;

	for (long i = 0; i < n; i++)
		sum += pointer(sum);
	return sum;
}

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	long n = argc == 3 ? atol(argv[1]) : 0;
	double start = cpu_ns();
	int sum;

	if (n <= 0)
		return 64;
	if (!strcmp(argv[2], "other"))
		pointer = other;
	sum = strcmp(argv[2], "direct") ? call_pointer(n) : call_directly(n);
	printf("%s %.0f\nsum %d\n", argv[2], (cpu_ns() - start) * 10 / (double)n, sum);
	return 0;
}
