/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * faults CONTEXTS ROUNDS MS: makes page faults in contexts that are known, the same number in each
 * run. In each round, each context has some. A round takes at least MS milliseconds. A thread and a
 * child process do the same in fewer contexts.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static unsigned int contexts, rounds, ms;
static __thread char *page;

__attribute__((noipa)) static void touch(unsigned int times)
{
	while (times--) {
		madvise(page, PAGE, MADV_DONTNEED);
		*(volatile char *)page = 1;
	}
}

__attribute__((noipa)) static void left(unsigned int path, unsigned int n);
__attribute__((noipa)) static void right(unsigned int path, unsigned int n);

/* The bits of a number are the path to its context. */
static inline void go(unsigned int path, unsigned int n)
{
	if (path <= 1)
		touch(1 + (n % 16 == 0) * 7);
	else if (path & 1)
		right(path >> 1, n);
	else
		left(path >> 1, n);
	/* Not a tail call. */
	__asm__ volatile("" ::: "memory");
}

static void left(unsigned int path, unsigned int n)
{
	go(path, n);
}

static void right(unsigned int path, unsigned int n)
{
	go(path, n);
	page[1] = 1;
}

static void work(unsigned int some)
{
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		abort();
	for (unsigned int round = 0; round < rounds; round++) {
		struct timespec pause = {.tv_nsec = ms * 1000000L};

		for (unsigned int i = 0; i < some; i++)
			left(i + 2, i);
		nanosleep(&pause, NULL);
	}
}

static void *work_less(void *unused)
{
	(void)unused;
	work(contexts / 8);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;

	if (argc != 4)
		return 2;
	contexts = (unsigned int)atoi(argv[1]);
	rounds = (unsigned int)atoi(argv[2]);
	ms = (unsigned int)atoi(argv[3]);
	child = fork();
	if (!child) {
		work(contexts / 8);
		_exit(0);
	}
	if (pthread_create(&thread, NULL, work_less, NULL))
		return 1;
	work(contexts);
	pthread_join(thread, NULL);
	waitpid(child, NULL, 0);
	return 0;
}
