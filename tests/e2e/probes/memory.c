/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes global variables a known number of times, in two threads and a child process. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

volatile long counter;
volatile char text[100];
static volatile short hidden;

static KEPT void add(long n)
{
	counter = n;
}

static KEPT void twice(long n)
{
	add(n);
	add(n);
	hidden = (short)n;
}

static void *thread(void *none)
{
	for (int i = 0; i < 100; i++)
		twice(i);
	return none;
}

int main(void)
{
	pthread_t t;

	for (int i = 0; i < 50; i++) {
		add(i);
		twice(i);
	}
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	if (!fork()) {
		add(1);
		_exit(0);
	}
	wait(NULL);
	text[3] = 1;
	text[8] = 1; /* no breakpoint has more than 8 bytes */
	return 0;
}
