/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A program without mistakes: recursion, callbacks, jumps and handlers that leave arrays which the
 * address sanitizer watches, vfork, threads.  Prints the same line as often as its argument says.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static _Thread_local volatile unsigned int burnt;

static NOINLINE void burn(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		burnt += i;
}

struct list {
	struct list *next;
	int value;
};

static NOINLINE int compare(const void *a, const void *b)
{
	const struct list *const *x = a, *const *y = b;

	burn(2);
	return ((*x)->value > (*y)->value) - ((*x)->value < (*y)->value);
}

static NOINLINE struct list *build(int n)
{
	struct list *l;

	if (n == 0)
		return NULL;
	l = malloc(sizeof(*l));
	l->value = n * 7919 % 101;
	l->next = build(n - 1);
	burn(20);
	return l;
}

static NOINLINE void drop(struct list *l)
{
	if (!l)
		return;
	drop(l->next);
	free(l);
}

static NOINLINE int sorted(int n)
{
	struct list *first = build(n), **all = malloc(n * sizeof(*all));
	int i = 0, sum = 0;

	for (struct list *l = first; l; l = l->next)
		all[i++] = l;
	qsort(all, n, sizeof(*all), compare);
	for (i = 0; i < n; i++)
		sum = (sum * 31 + all[i]->value) % 65521;
	free(all);
	drop(first);
	return sum;
}

/* Jumps out of frames with arrays that the address sanitizer watches. */
static jmp_buf back;

static NOINLINE void dive(int n, char *above)
{
	char mine[64];

	memset(mine, n, sizeof(mine));
	mine[0] += above[63];
	burn(20);
	if (n == 0)
		longjmp(back, mine[0] | 1);
	dive(n - 1, mine);
	burn(mine[0] & 1);
}

static NOINLINE int jumps(int n)
{
	volatile int sum = 0;
	char array[64] = "";

	for (volatile int i = 0; i < n; i++) {
		int got = setjmp(back);

		if (!got)
			dive(20, array);
		sum += got;
	}
	return sum;
}

static sigjmp_buf out_of_handler;
static volatile sig_atomic_t handled;

static NOINLINE void handler(int sig, siginfo_t *info, void *context)
{
	char array[32];

	(void)context;
	memset(array, sig, sizeof(array));
	handled += info->si_signo == array[31];
	burn(20);
}

static NOINLINE void jumper(int sig)
{
	char array[32];

	memset(array, sig, sizeof(array));
	burn(20);
	siglongjmp(out_of_handler, array[31]);
}

static NOINLINE void raiser(int n, int sig)
{
	char array[48];

	memset(array, n, sizeof(array));
	if (n == 0)
		raise(sig);
	else
		raiser(n - 1, sig);
	burn(array[47] & 3);
}

static NOINLINE int signals(int n)
{
	struct sigaction sa = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}, before;
	volatile int jumped = 0;

	sigaltstack(&stack, &before);
	sigaction(SIGUSR1, &sa, NULL);
	signal(SIGUSR2, jumper);
	for (volatile int i = 0; i < n; i++) {
		raiser(5, SIGUSR1);
		if (!sigsetjmp(out_of_handler, 1))
			raiser(7, SIGUSR2);
		else
			jumped++;
	}
	sigaltstack(&before, NULL);
	free(stack.ss_sp);
	return jumped;
}

/* The child never returns from these functions, but the compiler cannot know it: it leaves frames
 * behind in the parent's stack, in which others come to lie. */
static NOINLINE void child(char **argv, char *room)
{
	char array[2000];

	memset(array, 'c', sizeof(array));
	memcpy(room, array, 100);
	if (room[99] == 'c')
		execv(argv[0], argv);
}

static NOINLINE void in_the_middle(char **argv)
{
	char array[2000];

	memset(array, 'm', sizeof(array));
	child(argv, array);
}

extern void *__asan_region_is_poisoned(void *begin, size_t size) __attribute__((weak));

/* Checks that all of an array here is usable. */
__attribute__((no_sanitize("address"))) static NOINLINE int usable(int n)
{
	volatile char array[6000];

	for (unsigned int i = 0; i < sizeof(array); i++)
		array[i] = (char)n;
	if (__asan_region_is_poisoned && __asan_region_is_poisoned((char *)array, sizeof(array)))
		return -1;
	return array[n];
}

static NOINLINE int vforks(void)
{
	char *argv[] = {"/bin/true", NULL};
	int status = -1, got;
	pid_t pid = vfork();

	if (pid == 0) {
		in_the_middle(argv);
		_exit(1);
	}
	got = usable(7);
	waitpid(pid, &status, 0);
	return status + got;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;

static NOINLINE void add(int n)
{
	pthread_mutex_lock(&lock);
	total += n;
	pthread_mutex_unlock(&lock);
}

static NOINLINE int fib(int n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static void *thread(void *arg)
{
	int n = *(int *)arg;

	free(arg);
	add(fib(n));
	if (n % 2)
		pthread_exit(NULL);
	return NULL;
}

static NOINLINE int threads(int n)
{
	pthread_t id[8];

	for (int round = 0; round < n; round++) {
		for (int i = 0; i < 8; i++) {
			int *arg = malloc(sizeof(*arg));

			*arg = 8 + i;
			pthread_create(&id[i], NULL, thread, arg);
		}
		for (int i = 0; i < 8; i++)
			pthread_join(id[i], NULL);
	}
	return total;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < rounds; i++) {
		total = 0;
		handled = 0;
		printf("%d", sorted(100));
		printf(" %d", jumps(10));
		printf(" %d", signals(10));
		printf(" %d", handled);
		printf(" %d", vforks());
		printf(" %d\n", threads(4));
	}
	return 0;
}
