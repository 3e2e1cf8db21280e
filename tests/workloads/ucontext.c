/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Switches stacks: generators by makecontext and swapcontext that are resumed from different
 * depths, that end through uc_link, and that recurse further than a segment of the encoding stack
 * holds; contexts that are entered again by setcontext, on the same stack, on another one, and
 * twice; with signals in between.
 *
 * sampled: no
 * step: --signal=USR1,331
 */
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "burn.h"

#define COUNT 3
#define STACK 65536
#ifdef PCCE_STEPPED
#define DEEP 45
#else
#define DEEP 120
#endif

static volatile unsigned int sum;

static NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum += n;
	return n + 1;
}

static ucontext_t home, coroutine[COUNT];
static unsigned int current;

static NOINLINE void yield(unsigned int n)
{
	count(n);
	swapcontext(&coroutine[current], &home);
	count(n + 1);
}

static NOINLINE void produce(unsigned int depth)
{
	if (depth == 0) {
		yield(1);
		return;
	}
	produce(depth - 1);
	yield(depth);
}

/* Two sites that alternate, so that the entries are not repetitions. */
static NOINLINE void dive(unsigned int depth)
{
	if (depth == 0)
		yield(2);
	else if (depth & 1)
		dive(depth - 1);
	else
		dive(depth - 1);
	sum++;
}

static void run(unsigned int depth, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++)
		produce(depth);
	count(3);
}

static void run_deep(unsigned int depth, unsigned int rounds)
{
	for (unsigned int i = 0; i < rounds; i++)
		dive(depth);
}

static NOINLINE void resume(unsigned int which, unsigned int depth)
{
	if (depth) {
		resume(which, depth - 1);
		count(1);
		return;
	}
	current = which;
	swapcontext(&home, &coroutine[which]);
	count(2);
}

static NOINLINE void make(unsigned int which, void (*function)(unsigned int, unsigned int),
			  unsigned int depth, unsigned int rounds)
{
	/* Makes a separate mapping, with a gap below and above. */
	char *stack = mmap(NULL, STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(stack + 4096, STACK, PROT_READ | PROT_WRITE);
	getcontext(&coroutine[which]);
	coroutine[which].uc_stack.ss_sp = stack + 4096;
	coroutine[which].uc_stack.ss_size = STACK;
	coroutine[which].uc_link = &home;
	makecontext(&coroutine[which], (void (*)(void))function, 2, depth, rounds);
}

static NOINLINE void by_setcontext(void)
{
	static volatile unsigned int times;
	ucontext_t here;

	times = 0;
	getcontext(&here);
	count(4);
	if (times++ < 3)
		setcontext(&here);
	count(5);
}

/* A coroutine that goes back to a getcontext of the main stack. */
static ucontext_t origin;

static void back(unsigned int n, unsigned int rounds)
{
	count(n + rounds);
	setcontext(&origin);
}

static NOINLINE void from_another(void)
{
	static volatile unsigned int times;

	times = 0;
	getcontext(&origin);
	count(3);
	if (times++ < 2) {
		make(0, back, times, 2);
		setcontext(&coroutine[0]);
	}
	count(4);
}

static NOINLINE void deep_resume(unsigned int depth)
{
	if (depth == 0) {
		resume(1, 0);
		resume(2, 2);
	} else if (depth & 1) {
		deep_resume(depth - 1);
	} else {
		deep_resume(depth - 1);
	}
	sum++;
}

static void handler(int signo)
{
	count((unsigned int)signo & 1);
}

int main(void)
{
	signal(SIGUSR1, handler);
	for (unsigned int i = 0; i < COUNT; i++)
		make(i, run, i + 1, 2);
	/* 2 * (depth + 1) yields each, and the end. */
	for (unsigned int round = 0; round < 9; round++)
		for (unsigned int i = 0; i < COUNT; i++)
			if (round <= 2 * (i + 2))
				resume(i, round % 4);
	by_setcontext();
	from_another();
	make(1, run_deep, DEEP, 2);
	make(2, run_deep, 2 * DEEP, 2);
	for (unsigned int round = 0; round < 3; round++)
		deep_resume(round & 1 ? 2 * DEEP : 3);
	count(6);
	printf("%u\n", sum);
	return 0;
}
