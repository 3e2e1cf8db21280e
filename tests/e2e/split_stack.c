/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Continues functions on new stacks: recursion, variable arguments, callbacks (-fsplit-stack).
 * build-matrix.sh knows how often each short context is called.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned int sum;

static NOINLINE void add(int n, ...)
{
	va_list list;

	va_start(list, n);
	while (n--)
		sum += va_arg(list, unsigned int);
	va_end(list);
}

static int compare(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return (x > y) - (x < y);
}

static NOINLINE void sort(unsigned int *numbers, size_t n)
{
	qsort(numbers, n, sizeof(*numbers), compare);
	sum += numbers[0];
}

/* Is entered with a stack that is nearly full, at some depth. */
static unsigned int NOINLINE deep(unsigned int n, unsigned int (*next)(unsigned int, void *))
{
	unsigned int numbers[40 + n % 7 * 300], *last = numbers + sizeof(numbers) / 4 - 1;

	for (unsigned int i = 0; i < 8; i++)
		numbers[i] = (n * 7 + i * 5) % 11;
	*last = n;
	add(8, 1u, n, 3u, 4u, 5u, 6u, 7u, n);
	if (n % 5 == 0)
		sort(numbers, 8);
	return n ? next(n - 1, (void *)(size_t)next) + *last : 1;
}

static unsigned int through(unsigned int n, void *next)
{
	return deep(n, (unsigned int (*)(unsigned int, void *))next) + 1;
}

static NOINLINE unsigned int work(unsigned int n)
{
	return deep(n % 50, through) + n;
}

int main(void)
{
	for (unsigned int i = 0; i < 6000; i++)
		sum += work(i);
	printf("%u\n", sum);
	return 0;
}
