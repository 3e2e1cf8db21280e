/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * events NAME COUNT: so many times an event that the runtime has work with (bench/rare.sh). calls
 * is the loop in which there is none.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define DEEP 10
#define NUMBERS 1000

static volatile unsigned int work;
static jmp_buf env;
static ucontext_t mine, other;

static __attribute__((noinline)) void leaf(void)
{
	work++;
}

static __attribute__((noinline)) void calls(void)
{
	leaf();
	leaf();
}

static void on_signal(int signo)
{
	(void)signo;
	leaf();
}

static void signals(void)
{
	raise(SIGUSR1);
}

static void *thread(void *arg)
{
	leaf();
	return arg;
}

static void threads(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, thread, NULL))
		exit(1);
	pthread_join(t, NULL);
}

static void set(void)
{
	if (!setjmp(env))
		leaf();
}

static __attribute__((noinline)) void jump(int depth)
{
	if (!depth)
		longjmp(env, 1);
	jump(depth - 1);
	leaf();
}

static void jumps(void)
{
	if (!setjmp(env))
		jump(DEEP);
}

static int compare(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return *x - *y;
}

static void callbacks(void)
{
	static int list[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		list[i] = i * 7919 % NUMBERS;
	qsort(list, NUMBERS, sizeof(*list), compare);
}

static void other_stack(void)
{
	for (;;) {
		leaf();
		swapcontext(&other, &mine);
	}
}

static void switches(void)
{
	static char stack[65536];

	if (!other.uc_stack.ss_sp) {
		getcontext(&other);
		other.uc_stack.ss_sp = stack;
		other.uc_stack.ss_size = sizeof(stack);
		makecontext(&other, other_stack, 0);
	}
	swapcontext(&mine, &other);
}

static void forks(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

static void libraries(void)
{
	void *library = dlopen("libutil.so.1", RTLD_NOW);

	if (!library)
		exit(1);
	dlclose(library);
}

static const struct {
	const char *name;
	void (*run)(void);
} events[] = {
	{"calls", calls},	{"signals", signals}, {"threads", threads},
	{"setjmp", set},	{"longjmp", jumps},   {"callbacks", callbacks},
	{"switches", switches}, {"forks", forks},     {"dlopen", libraries},
};

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[2]) : 0;

	signal(SIGUSR1, on_signal);
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		if (count < 1 || strcmp(events[i].name, argv[1]))
			continue;
		while (count--)
			events[i].run();
		return 0;
	}
	fprintf(stderr, "usage: events NAME COUNT\n");
	return 2;
}
