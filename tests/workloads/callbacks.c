/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Has callbacks of all kinds: bsearch, atexit, pthread_once, destructors of thread-specific data,
 * constructors and destructors, a pool of threads and detached threads, IFUNC resolvers.
 *
 * sampled: no
 * flags: -O2 -pthread
 */
#include <pthread.h>
#include <semaphore.h>
#include "burn.h"

static volatile unsigned int sum;

static NOINLINE void count(unsigned int n)
{
	burn(n);
	sum += n;
}

__attribute__((constructor(150))) static void early(void)
{
	count(1);
}

__attribute__((destructor)) static void late(void)
{
	count(2);
}

static void at_exit(void)
{
	count(3);
	printf("%u\n", sum);
}

static void again_at_exit(void)
{
	atexit(at_exit);
	count(4);
}

static int compare(const void *a, const void *b)
{
	count(5);
	return *(const int *)a - *(const int *)b;
}

static NOINLINE unsigned int impl_one(unsigned int n)
{
	count(n);
	return n + 1;
}

static NOINLINE unsigned int impl_two(unsigned int n)
{
	count(n);
	return n + 2;
}

/* Runs before anything is relocated, so it calls nothing. */
static unsigned int (*choose(void))(unsigned int)
{
	return __builtin_cpu_supports("sse2") ? impl_one : impl_two;
}

unsigned int chosen(unsigned int n) __attribute__((ifunc("choose")));

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

static void init_once(void)
{
	count(6);
}

static void destroy(void *value)
{
	count(*(unsigned int *)value);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static unsigned int queued, taken;
static sem_t ended;
static __thread unsigned int mine;

static NOINLINE void task(unsigned int n)
{
	mine = n;
	pthread_setspecific(key, &mine);
	pthread_once(&once, init_once);
	burn(n);
}

static void *pool(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	for (;;) {
		while (taken == queued && queued < 6)
			pthread_cond_wait(&more, &lock);
		if (taken == queued)
			break;
		taken++;
		pthread_mutex_unlock(&lock);
		task(7);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	sem_post(&ended);
	return NULL;
}

static NOINLINE void run_pool(void)
{
	pthread_t t[2], alone;

	for (unsigned int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, pool, NULL))
			abort();
	for (unsigned int i = 0; i < 6; i++) {
		pthread_mutex_lock(&lock);
		queued++;
		pthread_cond_broadcast(&more);
		pthread_mutex_unlock(&lock);
	}
	if (pthread_create(&alone, NULL, pool, NULL) || pthread_detach(alone))
		abort();
	for (unsigned int i = 0; i < 3; i++)
		sem_wait(&ended);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	static const int table[] = {1, 3, 5, 7, 9, 11};
	int wanted = 9;

	sem_init(&ended, 0, 0);
	pthread_key_create(&key, destroy);
	atexit(again_at_exit);
	if (bsearch(&wanted, table, 6, sizeof(*table), compare))
		count(8);
	burnt += chosen(2) + chosen(3);
	run_pool();
	return 0;
}
