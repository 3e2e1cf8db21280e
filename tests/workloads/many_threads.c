/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs 1,000 threads, 100 at a time, each for a moment only.
 *
 * marked: 2
 * flags: -O2 -pthread
 * expect: (^|;)brief;hop;.*burn( |;)
 */
#include <pthread.h>
#include "burn.h"

static NOINLINE unsigned int hop(unsigned int depth)
{
	unsigned int r;

	burn(20000);
	if (depth == 0)
		return 1;
	r = hop(depth - 1);
	burn(1);
	return r + 1;
}

static void *brief(void *arg)
{
	*(unsigned int *)arg = hop(*(unsigned int *)arg % 60);
	return NULL;
}

int main(void)
{
	enum { ALL = ROUNDS(1000, 12), AT_ONCE = ROUNDS(100, 5) };
	static unsigned int n[ALL];
	static pthread_t t[ALL];
	pthread_attr_t attr;
	unsigned int sum = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (unsigned int i = 0; i < ALL; i++) {
		n[i] = i * ROUNDS(1, 5);
		if (i >= AT_ONCE)
			pthread_join(t[i - AT_ONCE], NULL);
		if (pthread_create(&t[i], &attr, brief, &n[i]))
			abort();
	}
	for (unsigned int i = ALL - AT_ONCE; i < ALL; i++)
		pthread_join(t[i], NULL);
	for (unsigned int i = 0; i < ALL; i++)
		sum += n[i];
	printf("%u\n", sum);
	return 0;
}
