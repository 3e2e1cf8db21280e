/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * handover N WORK: two threads on one processor hand a token over with two semaphores, N times
 * each, and compute for WORK ns between. Every second turn is a wait. Prints the ns of CPU time of
 * a turn.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static sem_t there, back;
static long rounds, loops;
static volatile unsigned long sum;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static __attribute__((noinline)) void work(void)
{
	for (long i = 0; i < loops; i++)
		sum += (unsigned long)i;
}

static void turn(sem_t *from, sem_t *to)
{
	work();
	sem_post(to);
	sem_wait(from);
}

static void *pong(void *arg)
{
	sem_wait(&there);
	for (long i = 1; i < rounds; i++)
		turn(&there, &back);
	sem_post(&back);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cpu_set_t one;
	long long begin;

	rounds = argc > 1 ? atol(argv[1]) : 0;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (rounds < 1 || argc < 3 || sched_setaffinity(0, sizeof(one), &one) ||
	    sem_init(&there, 0, 0) || sem_init(&back, 0, 0))
		return 1;
	begin = now();
	for (loops = 1000; now() - begin < 20000000;)
		work();
	begin = now();
	for (int i = 0; i < 100; i++)
		work();
	loops = 100000 * atol(argv[2]) / (now() - begin);
	if (pthread_create(&thread, NULL, pong, NULL))
		return 1;
	begin = now();
	for (long i = 0; i < rounds; i++)
		turn(&back, &there);
	printf("turn %.0f\n", (double)(now() - begin) / (2.0 * (double)rounds));
	pthread_join(thread, NULL);
	return 0;
}
