/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A handler interrupts a recursion after each N instructions, those of the counting code included.
 * With a second argument, it leaves it with a jump now and then.  Prints how often each function
 * was entered; after a jump it is not certain whether f was.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static volatile unsigned int f_calls, g_calls, handlers, traps, turns;
static sigjmp_buf back;
static unsigned int every, jump_after;

/* The trap flag: after each instruction, the processor sends a signal.  Handlers begin without. */
static inline __attribute__((always_inline)) void step(void)
{
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" : : : "memory", "cc");
}

static inline __attribute__((always_inline)) void run(void)
{
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" : : : "memory", "cc");
}

__attribute__((noinline)) static void g(unsigned int n)
{
	g_calls++;
	if (n)
		g(n - 1);
}

/* Not static: a static function that only other code calls is not counted. */
void handle(void);
__attribute__((noinline)) void handle(void)
{
	handlers++;
	g(handlers % 40);
	if (jump_after && handlers % jump_after == 0)
		siglongjmp(back, 1);
}

/* If each handler counted, the engine with few counters would never come to an end. */
__attribute__((no_instrument_function)) static void on_trap(int sig)
{
	(void)sig;
	if (++traps % every == 0)
		handle();
}

__attribute__((noinline)) static void f(unsigned int n)
{
	f_calls++;
	if (n & 1)
		f(n - 1);
	else if (n)
		f(n - 1);
}

int main(int argc, char **argv)
{
	struct sigaction a;

	every = (unsigned int)atoi(argv[1]);
	jump_after = argc > 2 ? 331 : 0;
	memset(&a, 0, sizeof(a));
	a.sa_handler = on_trap;
	sigaction(SIGTRAP, &a, NULL);
	sigsetjmp(back, 1);
	while (turns < 40) {
		turns++;
		step();
		f(turns % 40);
		run();
	}
	if (!jump_after)
		printf("f %u\n", f_calls);
	printf("g %u\nhandle %u\nmain 1\n", g_calls, handlers);
	return 0;
}
