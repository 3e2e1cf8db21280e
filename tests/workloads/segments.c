/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Grows encoding stacks beyond what the thread page holds, one entry at a time: by pushes only, and
 * by jumps whose records begin a new segment, with one entry or with both.
 * Each thread has a separate area.  A page of the area exists only after something was written to
 * it.
 *
 * marked: 2
 * verify: 1000 40
 * step: --restoring=20
 * expect: leaf;burn( |;)
 * expect: jump;back;burn( |;)
 */
#include <pthread.h>
#include <setjmp.h>
#include "burn.h"

#define DEEPEST ROUNDS(1300u, 72u)

static NOINLINE unsigned int down(unsigned int depth, unsigned int (*end)(void));

static NOINLINE unsigned int leaf(void)
{
	burn(ROUNDS(2000u, 300u));
	return 1;
}

static NOINLINE void back(jmp_buf env)
{
	burn(ROUNDS(2000u, 300u));
	longjmp(env, 1);
}

static NOINLINE unsigned int jump(void)
{
	jmp_buf env;

	if (!setjmp(env))
		back(env);
	burn(5);
	return 2;
}

static NOINLINE unsigned int other(unsigned int depth, unsigned int (*end)(void))
{
	return down(depth, end) + 1;
}

/* Two sites alternate, so that no entry equals the one below it. */
static NOINLINE unsigned int down(unsigned int depth, unsigned int (*end)(void))
{
	unsigned int r;

	if (depth == 0)
		r = end();
	else if (depth % 2)
		r = down(depth - 1, end);
	else
		r = other(depth - 1, end);
	burn(1);
	return r;
}

static void *run(void *arg)
{
	int way = *(int *)arg;
	unsigned int sum = 0;

	for (int round = 0; round < ROUNDS(8, 1); round++)
		for (unsigned int depth = way == 2; depth < DEEPEST; depth += way ? 2 : 1) {
			/* Something happens near the ends of segments, which have 16 entries. */
			if (ROUNDS(0, 1) && depth % 16 > 5 && depth % 16 < 11)
				continue;
			sum += down(depth, way ? jump : leaf);
		}
	return (void *)(unsigned long)sum;
}

int main(void)
{
	for (int way = 0; way < 3; way++) {
		pthread_t thread;
		void *sum;

		if (pthread_create(&thread, NULL, run, &way) || pthread_join(thread, &sum))
			return 1;
		printf("%lu\n", (unsigned long)sum);
	}
	return 0;
}
