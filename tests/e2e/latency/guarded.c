// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Calls and tail-calls through pointers that lead to one function in nine of ten cases. */
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE static int mostly(int k)
{
	volatile int sum = k;

	for (int i = 0; i < 200; i++)
		sum += i;
	return sum;
}

NOINLINE static int seldom(int k)
{
	return k + 3;
}

static int (*volatile called)(int) = mostly;
static int (*volatile tail_called)(int) = mostly;

NOINLINE static int tail_call(int k)
{
	return tail_called(k + 1);
}

NOINLINE static int call(int k)
{
	return called(k) + 1;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 0;
	unsigned int sum = 0;

	for (int i = 0; i < n; i++) {
		called = tail_called = i % 10 ? mostly : seldom;
		sum += (unsigned int)call(i) + (unsigned int)tail_call(i);
	}
	printf("%u\n", sum);
	return 0;
}
