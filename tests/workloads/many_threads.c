/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * 1,000 threads, 100 at a time, each alive for a moment only.
 *
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
	static unsigned int n[1000];
	static pthread_t t[1000];
	pthread_attr_t attr;
	unsigned int sum = 0;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	for (unsigned int i = 0; i < 1000; i++) {
		n[i] = i;
		if (i >= 100)
			pthread_join(t[i - 100], NULL);
		if (pthread_create(&t[i], &attr, brief, &n[i]))
			abort();
	}
	for (unsigned int i = 900; i < 1000; i++)
		pthread_join(t[i], NULL);
	for (unsigned int i = 0; i < 1000; i++)
		sum += n[i];
	printf("%u\n", sum);
	return 0;
}
