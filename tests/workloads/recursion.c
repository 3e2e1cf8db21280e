/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Recurses directly from two sites of one function, at varying depth.
 *
 * expect: (^|;)main;walk;.*walk;burn( |;)
 * expect: (^|;)main;start_again;walk;
 */
#include "burn.h"

static NOINLINE unsigned int walk(unsigned int depth, unsigned int *state)
{
	burn(50);
	if (depth == 0)
		return 1;
	if (next_random(state) % 3)
		return walk(depth - 1, state) + 1;
	return walk(depth / 2, state) + walk(depth / 3, state);
}

static NOINLINE unsigned int start_again(unsigned int depth, unsigned int *state)
{
	unsigned int n = walk(depth, state);

	burn(1);
	return n + 1;
}

int main(void)
{
	unsigned int state = 1, sum = 0;

	for (int i = 0; i < ROUNDS(500000, 60); i++) {
		sum += walk(i % 40, &state);
		if (i % 2)
			sum += start_again(i % 30, &state);
	}
	printf("%u\n", sum);
	return 0;
}
