/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Switches stacks itself and announces it (pcce.h).  Generators are resumed from different depths,
 * recurse further than a segment of the encoding stack holds, end, are given up in the middle of
 * their work, and go on in another thread; with signals in between.
 *
 * flags: -pthread
 * expect: (^|;)first;generate;dive(;dive)*;yield;count(;burn)?( |;)
 * expect: (^|;)main;resume_from;(resume_from;)*resume( |;)
 * expect: (^|;)elsewhere;resume( |;)
 * marked: 30
 * step: --signal=USR1,331
 */
#include <pthread.h>
#include "pcce.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "burn.h"

#define STACK 65536
#ifdef PCCE_STEPPED
#define DEEP 45u
#else
#define DEEP 120u
#endif

struct generator {
	void *sp, *home;
	struct pcce_switch mine, caller;
	unsigned int depth;
	int ended;
	char *area;
};

/* swap(&from, to): pushes the registers that a call keeps, stores the stack pointer in from, and
 * continues with the stack to. */
void swap(void **from, void *to);
__asm__("	.text\n"
	"	.globl swap\n"
	"	.type swap, @function\n"
	"swap:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n	push %rbx\n	push %r12\n	push %r13\n	push %r14\n	"
	"push %r15\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbx\n	"
	"pop %rbp\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size swap, . - swap\n");

static __thread struct generator *running;
static volatile unsigned int sum;

static NOINLINE unsigned int count(unsigned int n)
{
	burn(n);
	sum += n;
	return n + 1;
}

static NOINLINE void yield(unsigned int n)
{
	struct generator *g = running;

	count(n);
	pcce_switch_begin(&g->mine);
	swap(&g->sp, g->home);
	pcce_switch_end(&g->mine);
	count(n + 1);
}

/* Two sites that alternate, so that the entries are not repetitions. */
static NOINLINE void dive(unsigned int depth)
{
	if (depth % 16 == 0)
		yield(ROUNDS(300000, 2));
	if (depth == 0)
		return;
	if (depth & 1)
		dive(depth - 1);
	else
		dive(depth - 1);
	count(1);
}

static NOINLINE void generate(unsigned int depth)
{
	dive(depth);
	yield(3);
}

/* Where a stack begins. */
static NOINLINE void first(void)
{
	struct generator *g = running;

	pcce_switch_end(NULL);
	generate(g->depth);
	g->ended = 1;
	pcce_switch_begin(NULL);
	swap(&g->sp, g->home);
}

static NOINLINE void resume(struct generator *g)
{
	running = g;
	burn(ROUNDS(1000000, 1));
	pcce_switch_begin(&g->caller);
	swap(&g->home, g->sp);
	pcce_switch_end(&g->caller);
	burn(ROUNDS(1000000, 1));
}

static NOINLINE void resume_from(unsigned int depth, struct generator *g)
{
	if (depth == 0)
		resume(g);
	else
		resume_from(depth - 1, g);
	count(1);
}

static void begin(struct generator *g, unsigned int depth)
{
	void **top;

	/* Makes a separate mapping, with a gap below and above. */
	*g = (struct generator){
		.depth = depth,
		.area = mmap(NULL, STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
	if (g->area == MAP_FAILED || mprotect(g->area + 4096, STACK, PROT_READ | PROT_WRITE))
		exit(2);
	top = (void **)(g->area + 4096 + STACK) - 2;
	*top = (void *)first; /* returned to with the stack as if it had been called */
	g->sp = top - 6;
}

static void finish(struct generator *g)
{
	if (!g->ended)
		pcce_switch_forget(&g->mine);
	munmap(g->area, STACK + 8192);
}

static void *elsewhere(void *arg)
{
	resume(arg);
	return NULL;
}

static void on_signal(int number)
{
	(void)number;
	count(1);
}

int main(void)
{
	static struct generator g[3];

	signal(SIGUSR1, on_signal);
	for (unsigned int round = 0; round < ROUNDS(30u, 1u); round++) {
		pthread_t thread;

		begin(&g[0], DEEP);
		begin(&g[1], 3);
		begin(&g[2], DEEP / 2);
		for (unsigned int i = 0; i < 3; i++) {
			resume_from(40 + i, &g[0]);
			if (!g[1].ended)
				resume_from(i, &g[1]);
			resume_from(70, &g[2]);
		}
		/* Goes on in another thread and comes back.  The stepper keeps the stacks of
		 * threads separate.
		 */
		if (!ROUNDS(0, 1) &&
		    (pthread_create(&thread, NULL, elsewhere, &g[0]) || pthread_join(thread, NULL)))
			return 1;
		while (!g[0].ended)
			resume_from(round % 5, &g[0]);
		for (unsigned int i = 0; i < 3; i++)
			finish(&g[i]);
	}
	printf("%u\n", sum);
	return 0;
}
