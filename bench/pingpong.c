/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pingpong N
 *
 * Lets two threads on one processor take turns over two pipes, N times each.  Prints the ns of a
 * switch, and for each thread its number and the ns that it had no CPU, as schedstat and the clock
 * say.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int there[2], back[2];
static long rounds;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void turn(int from, int to)
{
	char byte = 0;

	if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1)
		abort();
}

/* Prints the time since `begin` that this thread had no CPU. */
static void print_wait(long long begin)
{
	unsigned long long used = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/schedstat", syscall(SYS_gettid));
	f = fopen(path, "r");
	if (!f || fscanf(f, "%llu", &used) != 1)
		abort();
	fclose(f);
	printf("thread %ld %lld\n", syscall(SYS_gettid), now() - begin - (long long)used);
}

static void *pong(void *arg)
{
	long long begin = now();
	char byte = 0;

	(void)arg;
	if (read(there[0], &byte, 1) != 1)
		abort();
	for (long i = 1; i < rounds; i++)
		turn(there[0], back[1]);
	if (write(back[1], &byte, 1) != 1)
		abort();
	print_wait(begin);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	cpu_set_t one;
	long long begin;

	rounds = argc > 1 ? atol(argv[1]) : 0;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (rounds < 1 || sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back) ||
	    pthread_create(&thread, NULL, pong, NULL))
		return 1;
	begin = now();
	for (long i = 0; i < rounds; i++)
		turn(back[0], there[1]);
	printf("switch %.0f\n", (double)(now() - begin) / (2.0 * (double)rounds));
	pthread_join(thread, NULL);
	return 0;
}
