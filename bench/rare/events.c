/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * events NAME COUNT
 *
 * Repeats an event that the runtime has work with COUNT times (bench/rare.sh).  The loop of the
 * event "calls" has no such event.
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

static __attribute__((noinline)) void event_call(void)
{
	leaf();
	leaf();
}

static void on_signal(int signo)
{
	(void)signo;
	leaf();
}

static void event_signal(void)
{
	raise(SIGUSR1);
}

static void *thread_main(void *arg)
{
	leaf();
	return arg;
}

static void event_thread(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, thread_main, NULL))
		exit(1);
	pthread_join(t, NULL);
}

static void event_setjmp(void)
{
	if (!setjmp(env))
		leaf();
}

static __attribute__((noinline)) void jump_from_depth(int depth)
{
	if (!depth)
		longjmp(env, 1);
	jump_from_depth(depth - 1);
	leaf();
}

static void event_longjmp(void)
{
	if (!setjmp(env))
		jump_from_depth(DEEP);
}

static int compare_ints(const void *a, const void *b)
{
	const int *x = a, *y = b;

	return *x - *y;
}

static void event_callback(void)
{
	static int list[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		list[i] = i * 7919 % NUMBERS;
	qsort(list, NUMBERS, sizeof(*list), compare_ints);
}

static void other_stack(void)
{
	for (;;) {
		leaf();
		swapcontext(&other, &mine);
	}
}

static void event_switch(void)
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

static void event_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

static void event_dlopen(void)
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
	/* clang-format off */
	{"calls", event_call},
	{"signals", event_signal},
	{"threads", event_thread},
	{"setjmp", event_setjmp},
	{"longjmp", event_longjmp},
	{"callbacks", event_callback},
	{"switches", event_switch},
	{"forks", event_fork},
	{"dlopen", event_dlopen},
	/* clang-format on */
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
