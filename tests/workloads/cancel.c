/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Ends threads in the middle: pthread_exit from deep inside, pthread_cancel at a cancellation
 * point, with clean-up handlers and TLS destructors.
 *
 * sampled: no
 * flags: -O2 -pthread -fexceptions
 */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>
#include "burn.h"

static volatile unsigned int sum;
static pthread_key_t key;
static sem_t ready;

static NOINLINE void count(unsigned int n)
{
	burn(n);
	sum += n;
}

static void clean(void *arg)
{
	count(*(unsigned int *)arg);
}

static void destroy(void *arg)
{
	count(*(unsigned int *)arg + 1);
}

static NOINLINE void leave(unsigned int depth)
{
	if (depth == 0)
		pthread_exit(NULL);
	leave(depth - 1);
	burnt++;
}

static NOINLINE void waits(unsigned int depth)
{
	unsigned int n = depth;

	pthread_cleanup_push(clean, &n);
	if (depth) {
		waits(depth - 1);
	} else {
		sem_post(&ready);
		for (;;)
			pause();
	}
	pthread_cleanup_pop(1);
}

static void *run(void *arg)
{
	static unsigned int value = 9;
	unsigned int way = *(unsigned int *)arg;

	pthread_setspecific(key, &value);
	pthread_cleanup_push(clean, &value);
	if (way == 0)
		leave(5);
	else
		waits(4);
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	pthread_key_create(&key, destroy);
	sem_init(&ready, 0, 0);
	for (unsigned int way = 0; way < 2; way++) {
		pthread_t t;

		if (pthread_create(&t, NULL, run, &way))
			return 1;
		if (way) {
			sem_wait(&ready);
			pthread_cancel(t);
		}
		pthread_join(t, NULL);
	}
	printf("%u\n", sum);
	return 0;
}
