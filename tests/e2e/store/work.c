/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Recursion, callbacks from libc, threads, allocations and system calls: what the contexts in a
 * store must keep. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static volatile long n;

__attribute__((noinline)) static void leaf(void)
{
	for (int i = 0; i < 100000; i++)
		n++;
}

__attribute__((noinline)) static int recurse(int depth)
{
	if (!depth) {
		leaf();
		return 1;
	}
	return recurse(depth - 1) + 1;
}

static int compare(const void *a, const void *b)
{
	n++;
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void sort_numbers(void)
{
	int a[2000];

	for (int i = 0; i < 2000; i++)
		a[i] = rand();
	qsort(a, 2000, sizeof(*a), compare);
}

__attribute__((noinline)) static void allocate(void)
{
	void *p[50];

	for (int i = 0; i < 50; i++)
		p[i] = malloc(1000 + i);
	for (int i = 1; i < 50; i++)
		free(p[i]);
}

__attribute__((noinline)) static void write_bytes(void)
{
	FILE *f = fopen("/dev/null", "w");

	for (int i = 0; f && i < 1000; i++) {
		fputc('x', f);
		fflush(f);
	}
	if (f)
		fclose(f);
}

static void *work(void *rounds)
{
	for (int i = 0; i < *(int *)rounds; i++) {
		recurse(i % 60 * 20);
		sort_numbers();
		allocate();
		write_bytes();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, &rounds);
	work(&rounds);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
