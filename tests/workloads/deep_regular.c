/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes 50,000 nested calls from one site: repetition is compressed, every sample is exact.
 *
 * expect: (^|;)main;down;
 * min-depth: 50000
 * no-verify: the real stack is deeper than what is kept of it
 */
#include "burn.h"

static NOINLINE unsigned int down(unsigned int depth)
{
	unsigned int r;

	if (depth == 0) {
		burn(10000000);
		return 1;
	}
	r = down(depth - 1);
	burn(20);
	return r + depth;
}

int main(void)
{
	unsigned int sum = 0;

	for (int i = 0; i < ROUNDS(90, 1); i++)
		sum += down(ROUNDS(50000, 2000));
	printf("%u\n", sum);
	return 0;
}
