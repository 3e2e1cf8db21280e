/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Lets the C library call back: qsort's comparison calls qsort itself.
 *
 * expect: (^|;)main;sort_rows;.*compare_rows;sort_row;.*compare_ints
 */
#include <string.h>
#include "burn.h"

#define COLUMNS 24

static int compare_ints(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	burn(10);
	return (x > y) - (x < y);
}

static NOINLINE void sort_row(int *row)
{
	qsort(row, COLUMNS, sizeof(*row), compare_ints);
	burn(1);
}

/* Compares rows by their medians.  Sorts copies, as a careless program does. */
static int compare_rows(const void *a, const void *b)
{
	int x[COLUMNS], y[COLUMNS];

	memcpy(x, a, sizeof(x));
	memcpy(y, b, sizeof(y));
	sort_row(x);
	sort_row(y);
	return (x[COLUMNS / 2] > y[COLUMNS / 2]) - (x[COLUMNS / 2] < y[COLUMNS / 2]);
}

static NOINLINE void sort_rows(int (*rows)[COLUMNS], size_t n)
{
	qsort(rows, n, sizeof(*rows), compare_rows);
	burn(1);
}

int main(void)
{
	enum { ROWS = ROUNDS(20000, 10) };
	static int rows[ROWS][COLUMNS];
	unsigned int state = 3, sum = 0;

	for (size_t i = 0; i < ROWS; i++)
		for (size_t j = 0; j < COLUMNS; j++)
			rows[i][j] = (int)(next_random(&state) % 10000);
	sort_rows(rows, ROWS);
	for (size_t i = 0; i < ROWS; i += ROUNDS(100, 1))
		sum = sum * 31 + (unsigned int)rows[i][0];
	printf("%u\n", sum);
	return 0;
}
