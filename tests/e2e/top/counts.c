/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * counts GO DONE: makes system calls in main;ready until the file GO exists, then a known number of
 * them in each of its other contexts, in two threads one after the other. Then it waits for DONE.
 *
 *   main;left;call       3000 of the first thread
 *   main;right;call      1000
 *   main;deep;...;call    500, below 200 frames of deep
 *   work;left;call       2000 of the second
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int sum;

__attribute__((noipa)) static void call(int n)
{
	for (int i = 0; i < n; i++)
		sum += getppid();
}

__attribute__((noipa)) static void left(int n)
{
	call(n);
	sum++;
}

__attribute__((noipa)) static void right(int n)
{
	call(n);
	sum += 2;
}

__attribute__((noipa)) static void deep(int depth, int n)
{
	if (depth > 1)
		deep(depth - 1, n);
	else
		call(n);
	sum++;
}

static void *work(void *arg)
{
	left(2000);
	sum++;
	return arg;
}

__attribute__((noipa)) static void ready(void)
{
	sum += getppid();
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3)
		return 1;
	while (access(argv[1], F_OK)) {
		ready();
		usleep(10000);
	}
	left(3000);
	right(1000);
	deep(200, 500);
	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		return 1;
	while (access(argv[2], F_OK))
		usleep(10000);
	return 0;
}
