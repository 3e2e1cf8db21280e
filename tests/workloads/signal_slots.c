/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Gets a signal before each single instruction of each kind of slot, of the runtime's helpers, and
 * of the C library.
 *
 * sampled: no
 * step: --signal=USR1,2
 */
#include <signal.h>
#include <string.h>
#include "burn.h"

static volatile unsigned int count;

static void on_signal(int sig)
{
	(void)sig;
	count++;
}

typedef unsigned int fn(unsigned int);

static NOINLINE unsigned int leaf(unsigned int n)
{
	return n + 1;
}

static NOINLINE unsigned int recurse(unsigned int n)
{
	unsigned int r = n ? recurse(n - 1) : leaf(n);

	burnt++;
	return r + 1;
}

static fn *volatile pointer = recurse;

static NOINLINE unsigned int other(unsigned int n)
{
	unsigned int r = leaf(n) + leaf(n + 1);

	burnt++;
	return r;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int main(void)
{
	int values[3] = {3, 1, 2};
	char text[40];

	signal(SIGUSR1, on_signal);
	burnt += other(1) + recurse(3) + pointer(2);
	qsort(values, 3, sizeof(*values), compare);
	memset(text, 1, sizeof(text));
	burnt += (unsigned int)strlen(strcpy(text, "words")) + other(burnt);
	signal(SIGUSR1, SIG_IGN);
	printf("%d %s\n", values[0], text);
	return 0;
}
