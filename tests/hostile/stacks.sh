#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# Attacks the self sampler with small stacks. The sampler must not touch a byte below a stack, and
# the program's own handlers must work as they do without it.

. "$(dirname "$0")/../lib.sh"
cd "$scratch" || exit 1
w=$top/tests/workloads
cflags=$(pcce-config --cflags)
ldflags=$(pcce-config --ldflags)

cat >stacks.c <<'END_C'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include "burn.h"

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#define BELOW 16384
#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif

/* A stack of size bytes, and what is below it. */
static unsigned char *make_stack(size_t size)
{
	unsigned char *p = mmap(NULL, BELOW + size, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 0xa5, BELOW + size);
	return p + BELOW;
}

static size_t damaged(const unsigned char *stack)
{
	size_t n = 0;

	for (const unsigned char *p = stack - BELOW; p < stack; p++)
		n += *p != 0xa5;
	return n;
}

static double cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static NOINLINE void work(double seconds)
{
	double end = cpu() + seconds;

	while (cpu() < end)
		burn(20000);
}

static volatile sig_atomic_t handled, busy;

static void handler(int sig)
{
	(void)sig;
	handled++;
	if (busy)
		burn(20000);
}

/* An alternate stack, with a handler that uses it. */
static int alternate(size_t size, unsigned int flags)
{
	unsigned char *stack = make_stack(size);
	stack_t new = {.ss_sp = stack, .ss_size = size, .ss_flags = (int)flags}, old;
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

	if (sigaltstack(&new, NULL))
		return puts("refused"), 0;
	sigaction(SIGUSR1, &action, NULL);
	work(0.3);
	busy = size >= 8192;
	/* The kernel's frame alone may be larger than the smallest stack. */
	for (int i = 0; i < 2000 && size > getauxval(AT_MINSIGSTKSZ) + 512; i++)
		raise(SIGUSR1);
	work(0.2);
	sigaltstack(NULL, &old);
	printf("%d handled, its stack: %d %d %d\n", (int)handled, old.ss_sp == stack,
	       old.ss_size == size, old.ss_flags == (int)flags);
	new.ss_flags = SS_DISABLE;
	printf("%d", sigaltstack(&new, &old));
	sigaltstack(NULL, &old);
	printf(" %d, %zu bytes damaged\n", old.ss_flags == SS_DISABLE, damaged(stack));
	return 0;
}

static volatile sig_atomic_t seen;

static void looks(int sig)
{
	stack_t now, new = {.ss_flags = SS_DISABLE};

	(void)sig;
	sigaltstack(NULL, &now);
	seen = now.ss_flags == SS_ONSTACK && sigaltstack(&new, NULL) != 0;
}

static int inside(void)
{
	unsigned char *stack = make_stack(8192);
	stack_t new = {.ss_sp = stack, .ss_size = 8192};
	struct sigaction action = {.sa_handler = looks, .sa_flags = SA_ONSTACK};

	sigaltstack(&new, NULL);
	new.ss_size = 1000;
	printf("%d ", sigaltstack(&new, NULL));
	new.ss_size = 8192;
	new.ss_flags = 77;
	printf("%d ", sigaltstack(&new, NULL));
	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	work(0.3);
	printf("%d\n", (int)seen);
	return 0;
}

/* A coroutine on a stack that is just large enough for it. */
static ucontext_t here, there;
static int rounds;

static void coroutine(void)
{
	for (;;) {
		burn(20000);
		rounds++;
		swapcontext(&there, &here);
	}
}

static int contexts(size_t size)
{
	unsigned char *stack = make_stack(size);
	double end = cpu() + 0.5;

	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = size;
	makecontext(&there, coroutine, 0);
	while (cpu() < end)
		swapcontext(&here, &there);
	printf("%d, %zu bytes damaged\n", rounds > 10, damaged(stack));
	return 0;
}

/* A hundred threads that come and go, some with an alternate stack, some of which end on it. */
static void leaves(int sig)
{
	(void)sig;
	pthread_exit(NULL);
}

static void *thread(void *arg)
{
	static unsigned char stacks[100][16384];
	long i = (long)arg;
	stack_t new = {.ss_sp = stacks[i], .ss_size = sizeof(stacks[i])};

	if (i % 3)
		sigaltstack(&new, NULL);
	work(0.01);
	if (i % 3 == 2)
		pthread_kill(pthread_self(), SIGUSR1);
	return NULL;
}

static int threads(void)
{
	struct sigaction action = {.sa_handler = leaves, .sa_flags = SA_ONSTACK};
	pthread_t t[100];

	sigaction(SIGUSR1, &action, NULL);
	for (long i = 0; i < 100; i++)
		pthread_create(&t[i], NULL, thread, (void *)i);
	for (int i = 0; i < 100; i++)
		pthread_join(t[i], NULL);
	puts("100");
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	size_t size = argc > 2 ? strtoul(argv[2], NULL, 0) : 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "alternate"))
		return alternate(size, 0);
	if (!strcmp(what, "autodisarm"))
		return alternate(size, SS_AUTODISARM);
	if (!strcmp(what, "inside"))
		return inside();
	if (!strcmp(what, "contexts"))
		return contexts(size);
	return threads();
}
END_C
check "the program builds" $CC -O2 -g -pthread -I"$w" $cflags stacks.c $ldflags -o stacks

recorded() { # NAME MINIMUM ARGUMENT...
	frequency=10000 recorded_as_plain "$1" "$2" ./stacks "${@:3}"
}

kinds=("" --verify)
[ -e "$out/lib/pcce/libpcce-verify.so" ] || kinds=("")
for record_options in "${kinds[@]}"; do
	name=${record_options:+, $record_options}
	for size in 1024 2048 3072 4096 8192 16384 65536 1000000; do
		[ $size = 1024 ] && minimum=0 || minimum=500
		recorded "an alternate stack of $size bytes$name" $minimum alternate $size
	done
	recorded "sigaltstack() in a handler$name" 300 inside
	for size in 2048 4096 8192; do
		recorded "a coroutine on $size bytes$name" 500 contexts $size
		check "a coroutine on $size bytes$name: nothing below was touched" \
			grep -q '^1, 0 bytes damaged' s.data.out
	done
	recorded "threads that come and go$name" 100 threads
done
record_options=
recorded "a small stack with SS_AUTODISARM" 0 autodisarm 4096
check "a small stack with SS_AUTODISARM: says that it is not sampled" \
	grep -q 'no stack for the sampler' s.data.err
recorded "a large stack with SS_AUTODISARM" 500 autodisarm 1000000
done_testing
