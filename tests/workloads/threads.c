/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs eight threads at different depths, half of which another thread creates.
 *
 * marked: 2
 * flags: -O2 -pthread
 * expect: (^|;)worker;climb;.*burn( |;)
 * expect: (^|;)maker;
 */
#include <pthread.h>
#include "burn.h"

static NOINLINE unsigned int climb(unsigned int depth)
{
	unsigned int r;

	burn(100);
	if (depth == 0)
		return 1;
	r = climb(depth - 1);
	burn(1);
	return r + 1;
}

static void *worker(void *arg)
{
	unsigned int n = *(unsigned int *)arg, sum = 0;

	for (unsigned int i = 0; i < ROUNDS(60000, 14); i++)
		sum += climb(i % n);
	*(unsigned int *)arg = sum;
	return NULL;
}

static void *maker(void *arg)
{
	unsigned int *n = arg;
	pthread_t t[4];

	burn(20000000);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, worker, &n[i]))
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	return NULL;
}

int main(void)
{
	unsigned int n[8] = {3, 8, 12, 16, 20, 24, 28, 32}, sum = 0;
	pthread_t t[5];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, worker, &n[i]))
			abort();
	if (pthread_create(&t[4], NULL, maker, &n[4]))
		abort();
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 8; i++)
		sum = sum * 7 + n[i];
	printf("%u\n", sum);
	return 0;
}
