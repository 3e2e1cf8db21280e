/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Records its calling contexts itself, to compare them with a recording.
 *
 * The program keeps the names of its active functions.  At certain points it asks the kernel for
 * its parent's number.  It prints how often it did that in which context, as `pcce-report
 * --format=folded` does.  A recording of the event syscalls:sys_enter_getppid must say exactly the
 * same.
 *
 * It has recursion, indirect calls, a callback from the C library, depths beyond what the thread
 * page holds, four threads, and a forked child.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define DEPTH_MAX 2000
#define CONTEXTS_MAX 4000

static __thread const char *stack[DEPTH_MAX];
static __thread int depth;

#define ENTER() (stack[depth++] = __func__)
#define LEAVE() (depth--)

static struct {
	char *chain;
	unsigned int count;
} contexts[CONTEXTS_MAX];
static int n_contexts;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A function that is not instrumented, so that its calls are no part of the contexts. */
__attribute__((optimize("O1"))) static void note(void)
{
	static char chain[DEPTH_MAX * 12];
	char *at = chain, *end = chain + sizeof(chain);
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < depth; i++)
		at += snprintf(at, (size_t)(end - at), "%s%s", i ? ";" : "", stack[i]);
	for (i = 0; i < n_contexts && strcmp(contexts[i].chain, chain) != 0; i++)
		;
	if (i == n_contexts) {
		if (i == CONTEXTS_MAX)
			abort();
		contexts[n_contexts++].chain = strdup(chain);
	}
	contexts[i].count++;
	pthread_mutex_unlock(&lock);
}

/* Raises the event, in the function that calls this. */
#define POINT()                                             \
	do {                                                \
		long result;                                \
		__asm__ volatile("syscall"                  \
				 : "=a"(result)             \
				 : "0"(SYS_getppid)         \
				 : "rcx", "r11", "memory"); \
		note();                                     \
	} while (0)

static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 16;
}

typedef unsigned int op(unsigned int n, unsigned int *state);
static op plain, again, twice;
static op *volatile table[] = {plain, again, twice};

static NOINLINE unsigned int dispatch(unsigned int n, unsigned int *state)
{
	unsigned int r;

	ENTER();
	r = table[n ? next_random(state) % 3 : 0](n, state);
	if (r % 8 == 0)
		POINT();
	LEAVE();
	return r + 1;
}

static NOINLINE unsigned int plain(unsigned int n, unsigned int *state)
{
	ENTER();
	if (next_random(state) % 4 == 0)
		POINT();
	LEAVE();
	return n + (*state >> 24);
}

static NOINLINE unsigned int again(unsigned int n, unsigned int *state)
{
	unsigned int r;

	ENTER();
	r = dispatch(n - 1, state);
	LEAVE();
	return r + 1;
}

static NOINLINE unsigned int twice(unsigned int n, unsigned int *state)
{
	unsigned int r;

	ENTER();
	r = dispatch(n - 1, state);
	r += dispatch(n / 2, state);
	LEAVE();
	return r;
}

static NOINLINE unsigned int odd(unsigned int n, unsigned int *state);

/* Irregular order, so that each call is an entry on the encoding stack. */
static NOINLINE unsigned int even(unsigned int n, unsigned int *state)
{
	unsigned int r = 0;

	ENTER();
	if (n % 100 == 0)
		POINT();
	if (n)
		r = next_random(state) % 2 ? odd(n - 1, state) : even(n - 1, state);
	LEAVE();
	return r + 1;
}

static NOINLINE unsigned int odd(unsigned int n, unsigned int *state)
{
	unsigned int r = 0;

	ENTER();
	if (n % 100 == 0)
		POINT();
	if (n)
		r = next_random(state) % 3 ? even(n - 1, state) : odd(n - 1, state);
	LEAVE();
	return r + 2;
}

static int compare(const void *a, const void *b)
{
	const unsigned int *x = a, *y = b;

	ENTER();
	if ((*x ^ *y) % 16 == 0)
		POINT();
	LEAVE();
	return (*x > *y) - (*x < *y);
}

static NOINLINE unsigned int sort(unsigned int *state)
{
	unsigned int v[64];

	ENTER();
	for (int i = 0; i < 64; i++)
		v[i] = next_random(state) % 1000;
	stack[depth++] = "qsort"; /* is called by name, so the report knows it */
	qsort(v, 64, sizeof(v[0]), compare);
	LEAVE();
	LEAVE();
	return v[10];
}

static NOINLINE unsigned int work(unsigned int seed)
{
	unsigned int state = seed, sum = 0;

	ENTER();
	POINT();
	for (unsigned int i = 0; i < 60; i++)
		sum += dispatch(i % 6, &state);
	sum += even(150, &state) + even(900, &state) + sort(&state);
	LEAVE();
	return sum;
}

static void *thread(void *arg)
{
	ENTER();
	*(unsigned int *)arg = work(*(unsigned int *)arg);
	LEAVE();
	return NULL;
}

static void print(void)
{
	for (int i = 0; i < n_contexts; i++)
		printf("%s %u\n", contexts[i].chain, contexts[i].count);
	fflush(stdout);
}

int main(void)
{
	unsigned int n[4] = {11, 12, 13, 14}, sum = 0;
	pthread_t t[4];
	int status;
	pid_t pid;

	ENTER();
	sum += work(1);
	pid = fork();
	if (pid == 0) {
		memset(contexts, 0, sizeof(contexts));
		n_contexts = 0;
		work(2);
		LEAVE();
		print();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, thread, &n[i]))
			return 1;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 4; i++)
		sum += n[i];
	LEAVE();
	print();
	return sum ? 0 : 1;
}
