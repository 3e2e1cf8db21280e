/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Recurses, and has callbacks from the C library, in a static executable.
 *
 * flags: -O2 -static
 * no-verify: a static program cannot load the unwinder
 * expect: (^|;)main;descend;.*compare
 */
#include "burn.h"

static int compare(const void *a, const void *b)
{
	burn(20);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE int descend(int depth, unsigned int *state)
{
	int v[16], r;

	for (int i = 0; i < 16; i++)
		v[i] = (int)(next_random(state) % 100);
	qsort(v, 16, sizeof(v[0]), compare);
	if (depth == 0)
		return v[8];
	r = descend(depth - 1, state);
	burn(1);
	return r + v[0];
}

int main(void)
{
	unsigned int state = 2;
	int sum = 0;

	for (int i = 0; i < ROUNDS(50000, 12); i++)
		sum += descend(i % 20, &state);
	printf("%d\n", sum);
	return 0;
}
