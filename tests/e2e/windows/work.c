/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Does the same in each run, for about a second: what a window of a recording can need from an
 * earlier one. mark() is called from threads that were created, stacks that were built, libraries
 * that were loaded and processes that began some windows before.
 *
 * Usage: work PLUGIN ROUNDS
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE 40000 /* us, of a round */
#define DEPTH 20000 /* frames: more segments than one sample brings */

static int rounds;

__attribute__((noinline)) static void mark(void)
{
	void *p = malloc(24);

	__asm__ volatile("" : "+r"(p));
	free(p);
}

__attribute__((noinline)) static void round_of_marks(void)
{
	usleep(PAUSE);
	mark();
}

__attribute__((noinline)) static int deep(int depth, int count)
{
	int n = 0;

	if (depth) {
		/* No pattern, which the encoding stack would hold as a few entries. */
		if ((unsigned int)depth * 2654435761u >> 31)
			n = deep(depth - 1, count);
		else
			n = deep(depth - 1, count) + 1;
		__asm__ volatile("" : "+r"(n)); /* no loop */
		return n;
	}
	for (int i = 0; i < count; i++)
		round_of_marks();
	return 1;
}

/* Some of the stack goes and comes between two windows. */
__attribute__((noinline)) static int waves(int depth)
{
	int n = 0;

	if (depth) {
		n = waves(depth - 1);
		__asm__ volatile("" : "+r"(n));
		return n;
	}
	for (int i = 0; i < 4; i++)
		n += deep(DEPTH / 4 * i, rounds / 4 + 1);
	return n;
}

static void *worker(void *arg)
{
	if (arg)
		prctl(PR_SET_NAME, "renamed");
	deep(DEPTH, rounds);
	return NULL;
}

__attribute__((noinline)) static void create(pthread_t *t, void *arg)
{
	pthread_create(t, NULL, worker, arg);
}

__attribute__((noinline)) static void create_two(pthread_t t[2])
{
	create(&t[0], NULL);
	create(&t[1], t);
}

static void child(const char *self, const char *plugin)
{
	deep(100, rounds / 2);
	execl(self, "again", plugin, "exec", NULL);
	_exit(1);
}

static void load(const char *plugin)
{
	void *library = dlopen(plugin, RTLD_NOW);
	void (*call)(void (*)(void), int) = library ? dlsym(library, "call_often") : NULL;

	if (!call)
		exit(2);
	call(round_of_marks, rounds / 2);
	dlclose(library);
	round_of_marks();
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	pid_t pid, brief;

	if (argc < 3)
		return 2;
	if (!strcmp(argv[2], "exec")) {
		rounds = 8;
		load(argv[1]);
		return 0;
	}
	rounds = atoi(argv[2]);
	pid = fork();
	if (!pid)
		child(argv[0], argv[1]);
	create_two(t);
	load(argv[1]);
	for (int i = 0; i < 6; i++) {
		brief = fork();
		if (!brief) {
			round_of_marks();
			_exit(0);
		}
		waitpid(brief, NULL, 0);
	}
	waves(3);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	waitpid(pid, NULL, 0);
	return 0;
}
