/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls functions in many ways, a known number of times, in several threads and a child process.
 * Prints how often it called each. calls N */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "usdt.h"

#define KEPT __attribute__((noinline, noclone))

volatile unsigned short watched __attribute__((section(".probes"), used));
static volatile unsigned long sink;
static _Thread_local unsigned long leaves, walks;
static unsigned long fired, handled;

KEPT void leaf(unsigned long n)
{
	leaves++;
	sink += n;
}

static KEPT void other(unsigned long n)
{
	leaf(n);
	sink++;
}

/* Called directly, and by its own calls. */
KEPT unsigned long walk(unsigned long n)
{
	unsigned long sum;

	walks++;
	if (!n) {
		leaf(0);
		return 1;
	}
	sum = walk(n - 1);
	if (n % 4 == 0)
		sum += walk(n / 2);
	sink++; /* so the last call is no tail call */
	return sum;
}

static void (*volatile pointer)(unsigned long) = other;

static KEPT void handle(int signal)
{
	(void)signal;
	handled++;
	leaf(1);
}

static KEPT void fire(void)
{
	PROBE(calls, always, 0);
	if (watched) {
		fired++;
		PROBE(calls, watched, watched);
	}
	sink++;
}

static KEPT void work(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		leaf(i);
		pointer(i);
		fire();
		if (i % 64 == 0) {
			walk(8);
			raise(SIGUSR1);
		}
	}
}

static void *thread(void *n)
{
	unsigned long *counts = malloc(2 * sizeof(*counts));

	for (unsigned long i = 0; i < (unsigned long)n; i++)
		other(i);
	walk(5);
	counts[0] = leaves;
	counts[1] = walks;
	return counts;
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100, *counts;
	unsigned long leaves_before, walks_before;
	pthread_t threads[2];
	int status;

	signal(SIGUSR1, handle);
	work(n);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread, (void *)n);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], (void **)&counts);
		leaves += counts[0];
		walks += counts[1];
		free(counts);
	}
	if (!fork()) {
		walk(3);
		_exit(0);
	}
	wait(&status);
	/* As the child did; both count. */
	leaves_before = leaves;
	walks_before = walks;
	walk(3);
	leaves += leaves - leaves_before;
	walks += walks - walks_before;
	printf("%lu %lu %lu %lu\n", leaves, walks, fired, handled);
	return 0;
}
