/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * program          calls the library, in two threads, and sorts
 * program blind    also calls the function without unwind information
 * program touch N  makes page faults; meanwhile the parent stands still for a while
 * program ask      makes system calls in the library, the same in each run
 * program wide     has frames of several KB, its own and the library's, in two threads
 * program flat     has a stack of a few frames
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
typedef unsigned long work(unsigned long);
extern int lib_touch(char *, int);
extern unsigned long lib_aligned(unsigned long), lib_recursive(unsigned long, int),
	lib_calls(work *, unsigned long), lib_any_size(unsigned long), lib_leaf(unsigned long),
	lib_blind(unsigned long), lib_ask_any_size(unsigned long), lib_ask_aligned(unsigned long),
	lib_ask_deep(unsigned long, int), lib_wide(unsigned long, int);
static volatile unsigned long sum;
static int blind;

static NOINLINE unsigned long back(unsigned long n)
{
	return lib_any_size(n) + 1;
}

static NOINLINE void deep(int n)
{
	if (n)
		deep(n - 1);
	else
		sum += lib_recursive(n, 6) + lib_calls(back, n);
	sum++;
}

static NOINLINE void *work_on(void *arg)
{
	for (int i = 0; i < 250; i++) {
		deep(i % 40);
		sum += lib_aligned(i);
		if (blind)
			sum += lib_blind(i);
	}
	return arg;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static NOINLINE void sort(void)
{
	static char names[3000][64];
	static char *order[3000];

	for (int i = 0; i < 3000; i++)
		snprintf(order[i] = names[i], 64, "%060.10f", i * 7919 % 3001 / 3.0);
	qsort(order, 3000, sizeof(*order), compare);
	sum += order[7][60];
}

/* Each write is a page fault. The recorder stands still, and then goes on. */
static NOINLINE int touch(int rounds)
{
	size_t size = 1000 * 4096ul;
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return 1;
	for (int i = 0; i < 3 * rounds; i++) {
		if (i == rounds)
			kill(getppid(), SIGSTOP);
		if (i == 2 * rounds)
			kill(getppid(), SIGCONT);
		madvise(pages, size, MADV_NOHUGEPAGE);
		for (size_t at = 0; at < size; at += 4096)
			sum += lib_touch(pages + at, (i + (int)(at / 4096)) % 40);
		madvise(pages, size, MADV_DONTNEED);
	}
	return 0;
}

static NOINLINE unsigned long ask_back(unsigned long n)
{
	return lib_ask_any_size(n) + 1;
}

static NOINLINE void *ask(void *arg)
{
	for (unsigned long i = 0; i < 100; i++) {
		sum += lib_ask_deep(i, (int)i % 40) + lib_calls(ask_back, i);
		sum += lib_ask_aligned(i);
	}
	return arg;
}

static NOINLINE void wide(int depth)
{
	volatile char room[3000];

	room[0] = room[2999] = 1;
	if (depth)
		wide(depth - 1);
	else
		sum += lib_wide(0, 18);
	sum += (unsigned long)room[0];
}

static NOINLINE void *go_wide(void *arg)
{
	for (int i = 0; i < 600; i++)
		wide(i % 4);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc > 2)
		return touch(atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "ask")) {
		if (pthread_create(&t, NULL, ask, argv))
			return 1;
		pthread_join(t, NULL);
		ask(argv);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "wide")) {
		if (pthread_create(&t, NULL, go_wide, argv))
			return 1;
		go_wide(argv);
		pthread_join(t, NULL);
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "flat")) {
		for (int i = 0; i < 10000; i++)
			sum += lib_leaf(i);
		return 0;
	}
	blind = argc > 1;
	if (pthread_create(&t, NULL, work_on, argv))
		return 1;
	work_on(argv);
	for (int i = 0; i < 60; i++)
		sort();
	pthread_join(t, NULL);
	return 0;
}
