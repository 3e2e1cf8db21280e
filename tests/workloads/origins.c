// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Creates threads in different contexts: from two places, deep in a recursion and deeper
 * than is copied, by threads that were created themselves, detached, as a pool, in a signal
 * handler, as C11 threads, and by a process that a thread has forked.  "origin:" are lines of
 * `pcce-report --origins --format=folded`.
 *
 * marked: 2
 * flags: -O2 -pthread
 * expect: (^|;)work_a;burn( |;)
 * expect: (^|;)work_inner;burn( |;)
 * origin: ^main;start_a;\[thread\];work_a;burn
 * origin: ^main;start_b;\[thread\];work_b;burn
 * origin: ^main;start_b;\[thread\];work_b;create_inner;\[thread\];work_inner;burn
 * origin: ^main;(dig;){41}\[thread\];work_deep;burn
 * origin: ^main;((odd|even|dig_more);){301}\[thread\];work_deeper;burn
 * origin: ^\[truncated\];(odd|even|dig_more);.*dig_more;\[thread\];work_deepest;burn
 * origin: ^main;start_pool;\[thread\];pool;job_(one|two);burn
 * origin: ^main;start_detached;\[thread\];work_detached;burn
 * origin: ^main;raise_it;.*\[signal\];on_signal;\[thread\];work_of_signal;burn
 * origin: ^main;start_c11;\[thread\];work_c11;burn
 * origin: ^main;start_forker;\[thread\];forker;in_child;\[thread\];work_of_child;burn
 * origin: ^main;burn
 * no-origin: ^(work|pool|forker)
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
#include "burn.h"

/* A macro, so that there is no frame for it. */
#define START(thread, routine, arg)                                \
	do {                                                       \
		if (pthread_create(&(thread), NULL, routine, arg)) \
			abort();                                   \
	} while (0)

#define WORKER(name)                                            \
	static NOINLINE void *name(void *arg)                   \
	{                                                       \
		burn(100000000);                                \
		__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED); \
		return arg;                                     \
	}

static unsigned int done;

WORKER(work_a)
WORKER(work_inner)
WORKER(work_deep)
WORKER(work_deeper)
WORKER(work_deepest)
WORKER(work_of_signal)
WORKER(work_of_child)

static NOINLINE void start_a(void)
{
	pthread_t t;

	START(t, work_a, NULL);
	pthread_join(t, NULL);
	burn(1);
}

/* ---- a thread of a thread ---- */

static NOINLINE void create_inner(void)
{
	pthread_t t;

	START(t, work_inner, NULL);
	pthread_join(t, NULL);
	burn(1);
}

static NOINLINE void *work_b(void *arg)
{
	burn(100000000);
	create_inner();
	burn(1);
	return arg;
}

static NOINLINE void start_b(void)
{
	pthread_t t;

	START(t, work_b, NULL);
	pthread_join(t, NULL);
	burn(1);
}

/* ---- deep ---- */

static NOINLINE unsigned int dig(unsigned int depth)
{
	unsigned int r = 0;
	pthread_t t;

	if (depth) {
		r = dig(depth - 1);
		burn(1);
		return r + 1;
	}
	START(t, work_deep, NULL);
	pthread_join(t, NULL);
	return r;
}

static NOINLINE unsigned int dig_more(unsigned int depth, unsigned int *state,
				      void *(*routine)(void *));

static NOINLINE unsigned int odd(unsigned int depth, unsigned int *state, void *(*routine)(void *))
{
	unsigned int r = dig_more(depth, state, routine);

	burn(1);
	return r + 1;
}

static NOINLINE unsigned int even(unsigned int depth, unsigned int *state, void *(*routine)(void *))
{
	unsigned int r = dig_more(depth, state, routine);

	burn(1);
	return r + 2;
}

/* In irregular order, so that there are many entries. */
static NOINLINE unsigned int dig_more(unsigned int depth, unsigned int *state,
				      void *(*routine)(void *))
{
	unsigned int r;
	pthread_t t;

	if (depth) {
		r = next_random(state) % 2 ? odd(depth - 1, state, routine)
					   : even(depth - 1, state, routine);
		burn(1);
		return r;
	}
	START(t, routine, NULL);
	pthread_join(t, NULL);
	return 0;
}

/* ---- detached, and a pool ---- */

static NOINLINE void *work_detached(void *arg)
{
	burn(100000000);
	__atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
	return arg;
}

static NOINLINE void start_detached(void)
{
	unsigned int before = __atomic_load_n(&done, __ATOMIC_ACQUIRE);
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, &attr, work_detached, NULL))
		abort();
	while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) == before)
		usleep(1000);
	burn(1);
}

static unsigned int jobs;

static NOINLINE void job_one(void)
{
	burn(2000000);
}

static NOINLINE void job_two(void)
{
	burn(1000000);
	burn(1000000);
}

static NOINLINE void *pool(void *arg)
{
	unsigned int job;

	while ((job = __atomic_fetch_add(&jobs, 1, __ATOMIC_RELAXED)) < ROUNDS(100, 6)) {
		if (job % 2)
			job_one();
		else
			job_two();
		burn(1);
	}
	return arg;
}

static NOINLINE void start_pool(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		START(t[i], pool, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	burn(1);
}

/* ---- in a handler; C11; after a fork ---- */

static pthread_t of_signal;

static void on_signal(int signo)
{
	START(of_signal, work_of_signal, NULL);
	burn((unsigned int)signo);
}

static NOINLINE void raise_it(void)
{
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	pthread_join(of_signal, NULL);
	burn(1);
}

static NOINLINE int work_c11(void *arg)
{
	burn(100000000);
	return arg ? 1 : 5;
}

static NOINLINE void start_c11(void)
{
	int result = 0;
	thrd_t t;

	if (thrd_create(&t, work_c11, NULL) != thrd_success ||
	    thrd_join(t, &result) != thrd_success || result != 5)
		abort();
	burn(1);
}

static NOINLINE void in_child(void)
{
	pthread_t t;

	START(t, work_of_child, NULL);
	pthread_join(t, NULL);
	burn(1);
}

static NOINLINE void *forker(void *arg)
{
	pid_t child = fork();
	int status = 1;

	if (child == 0) {
		in_child();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status)
		abort();
	burn(1);
	return arg;
}

static NOINLINE void start_forker(void)
{
	pthread_t t;

	START(t, forker, NULL);
	pthread_join(t, NULL);
	burn(1);
}

int main(void)
{
	unsigned int state = 3, sum = 0;

	burn(100000000);
	start_a();
	start_b();
	sum += dig(40);
	sum += dig_more(ROUNDS(150, 40), &state, work_deeper);
	/* More entries than a thread gets from its creator, fewer than one sample holds
	 * (PCCE_SAMPLE_SEGMENTS). */
	sum += dig_more(ROUNDS(6000, 300), &state, work_deepest);
	start_pool();
	start_detached();
	raise_it();
	start_c11();
	start_forker();
	printf("%u %u\n", sum, done);
	return 0;
}
