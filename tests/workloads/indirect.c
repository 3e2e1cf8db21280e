/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Calls through a table of functions, some of which call through the table again.
 *
 * expect: (^|;)main;dispatch;plain;burn( |;)
 * expect: ;dispatch;again;dispatch;.*burn( |;)
 */
#include "burn.h"

typedef unsigned int op(unsigned int depth, unsigned int *state);

static op plain, other, again, twice;
static op *volatile table[] = {plain, other, again, twice};

static NOINLINE unsigned int dispatch(unsigned int depth, unsigned int *state)
{
	unsigned int which = next_random(state) % (depth ? 4 : 2);
	unsigned int r = table[which](depth, state);

	burn(1);
	return r + which;
}

static NOINLINE unsigned int plain(unsigned int depth, unsigned int *state)
{
	burn(200);
	return depth + (*state & 1);
}

static NOINLINE unsigned int other(unsigned int depth, unsigned int *state)
{
	burn(100);
	return depth * 3 + (*state & 3);
}

static NOINLINE unsigned int again(unsigned int depth, unsigned int *state)
{
	unsigned int r = dispatch(depth - 1, state);

	burn(10);
	return r + 1;
}

static NOINLINE unsigned int twice(unsigned int depth, unsigned int *state)
{
	unsigned int r = dispatch(depth - 1, state);

	r += dispatch(depth / 2, state);
	burn(10);
	return r;
}

int main(void)
{
	unsigned int state = 7, sum = 0;

	for (unsigned int i = 0; i < ROUNDS(3000000, 60); i++)
		sum += dispatch(i % 12, &state);
	printf("%u\n", sum);
	return 0;
}
