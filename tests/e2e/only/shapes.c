/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * shapes ROUNDS LIBRARY: makes page faults in contexts that are known, the same number in each run,
 * and works for a moment at each. The contexts are those of threads, of a child, of recursion, and
 * of a library that is loaded later. The encoding stack is deep at some of them: the first fault
 * there is always that of load(), and the next one is that of save().
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define NOIPA __attribute__((noipa))

static unsigned int rounds;
static volatile unsigned int sum;
static __thread char *page;
static __thread unsigned int number;
static void (*volatile from_library)(void (*callback)(void));

NOIPA static void touch(void)
{
	madvise(page, PAGE, MADV_DONTNEED);
	*(volatile char *)page = 1;
	for (unsigned int i = 0; i < 3000; i++)
		sum += i;
}

NOIPA static void load(void)
{
	touch();
	sum++;
}

NOIPA static void save(void)
{
	touch();
	sum++;
}

NOIPA static void both(void)
{
	load();
	save();
	sum++;
}

NOIPA static void by_one(unsigned int depth);
NOIPA static void by_two(unsigned int depth);

/* Goes down in an irregular order: nothing repeats. */
NOIPA static void down(unsigned int depth)
{
	number = number * 1664525u + 1013904223u;
	if (!depth)
		both();
	else if (number >> 31)
		by_one(depth - 1);
	else
		by_two(depth - 1);
	sum++;
}

static void by_one(unsigned int depth)
{
	down(depth);
	sum++;
}

static void by_two(unsigned int depth)
{
	down(depth);
	sum++;
}

NOIPA static void again(unsigned int depth)
{
	if (depth)
		again(depth - 1);
	else
		both();
	sum++;
}

NOIPA static int compare(const void *a, const void *b)
{
	if (*(const int *)a == 7 && *(const int *)b == 5)
		both();
	return *(const int *)a - *(const int *)b;
}

NOIPA static void sort(void)
{
	int numbers[] = {7, 5};

	qsort(numbers, 2, sizeof(*numbers), compare);
	sum++;
}

NOIPA static void on_signal(int sig)
{
	(void)sig;
	load();
	sum++;
}

NOIPA static void all(void)
{
	number = 1;
	for (unsigned int i = 0; i < rounds; i++) {
		both();
		again(5 + i % 3);
		/* Repetitions, which entries count. */
		again(100);
		down(i % 40);
		down(300);
		if (i == 2)
			down(20000);
		sort();
		from_library(save);
		raise(SIGUSR1);
	}
	sum++;
}

/* Else the first call at some depth would make a fault of its own. */
NOIPA static void use_stack(void)
{
	volatile char stack[4 << 20];

	for (size_t i = 0; i < sizeof(stack); i += PAGE)
		stack[i] = 1;
}

NOIPA static void begin(void)
{
	use_stack();
	sum++;
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		abort();
	all();
	sum++;
}

static void *thread(void *unused)
{
	begin();
	sum++;
	return unused;
}

NOIPA static void child(void)
{
	begin();
	sum++;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t t;
	void *library;
	pid_t pid;

	if (argc != 3)
		return 2;
	rounds = (unsigned int)atoi(argv[1]);
	library = dlopen(argv[2], RTLD_NOW);
	if (library)
		from_library = (void (*)(void (*)(void)))dlsym(library, "library_calls");
	if (!from_library)
		return 3;
	signal(SIGUSR1, on_signal);
	pid = fork();
	if (!pid) {
		child();
		_exit(0);
	}
	sum++;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 20);
	if (pthread_create(&t, &attr, thread, NULL))
		return 4;
	begin();
	pthread_join(t, NULL);
	waitpid(pid, NULL, 0);
	return 0;
}
