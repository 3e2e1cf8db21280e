/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes 50,000 nested calls through three sites in irregular order: nothing to compress, more
 * entries than a sample holds.  Such samples are marked as truncated, never wrong.
 *
 * expect: burn( |;)
 * truncated: yes
 * no-verify: the real stack is deeper than what is kept of it
 */
#include "burn.h"

static NOINLINE unsigned int down(unsigned int depth, unsigned int *state);

static NOINLINE unsigned int by_one(unsigned int depth, unsigned int *state)
{
	unsigned int r = down(depth, state);

	burn(5);
	return r + 1;
}

static NOINLINE unsigned int by_two(unsigned int depth, unsigned int *state)
{
	unsigned int r = down(depth, state);

	burn(5);
	return r + 2;
}

static NOINLINE unsigned int down(unsigned int depth, unsigned int *state)
{
	unsigned int r;

	if (depth == 0) {
		burn(10000000);
		return 1;
	}
	switch (next_random(state) % 3) {
	case 0:
		r = by_one(depth - 1, state);
		break;
	case 1:
		r = by_two(depth - 1, state);
		break;
	default:
		r = down(depth - 1, state);
	}
	burn(20);
	return r + depth;
}

int main(void)
{
	unsigned int state = 5, sum = 0;

	for (int i = 0; i < ROUNDS(60, 2); i++)
		sum += down(i % 3 ? 300 : ROUNDS(30000, 1400), &state);
	printf("%u\n", sum);
	return 0;
}
