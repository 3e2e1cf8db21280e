/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Changes where it continues, in a signal handler.
 *
 * redirect KIND ROUNDS: KIND is skip (an instruction) or inject (a call).  Prints how often.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sum;
static const char *kind;
static unsigned long handled;

static NOINLINE void spin(int n)
{
	for (int i = 0; i < n; i++)
		sum += (unsigned long)i;
}

static void (*volatile pointer)(int) = spin;

static NOINLINE void injected(void)
{
	pointer(300);
	spin(300);
}

/* Called as from the interrupted instruction, like a safepoint of a garbage collector. */
__attribute__((naked, used)) static void entry_of_injected(void)
{
	__asm__("pushfq\n pushq %rax\n pushq %rcx\n pushq %rdx\n pushq %rsi\n pushq %rdi\n"
		"pushq %r8\n pushq %r9\n pushq %r10\n pushq %r11\n pushq %rbp\n movq %rsp, %rbp\n"
		"andq $-16, %rsp\n call injected_here\n movq %rbp, %rsp\n popq %rbp\n popq %r11\n"
		"popq %r10\n popq %r9\n popq %r8\n popq %rdi\n popq %rsi\n popq %rdx\n"
		"popq %rcx\n popq %rax\n popfq\n ret $128\n");
}

__attribute__((used)) void injected_here(void);
void injected_here(void)
{
	injected();
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)sig;
	(void)info;
	handled++;
	spin(20);
	if (!strcmp(kind, "skip")) {
		r[REG_RIP] += 2; /* ud2 */
	} else if (!strcmp(kind, "inject")) {
		r[REG_RSP] -= 136;
		*(greg_t *)r[REG_RSP] = r[REG_RIP] + 2;
		r[REG_RIP] = (greg_t)entry_of_injected;
	}
}

static NOINLINE void traps(void)
{
	spin(300);
	__asm__ volatile("ud2");
	spin(300);
	pointer(300);
}

static void (*volatile traps_by_pointer)(void) = traps;

static NOINLINE int deep(int n)
{
	int r = 0;

	if (n > 0)
		r = n % 2 ? deep(n - 1) : deep(n - 1) + 1;
	else
		traps_by_pointer();
	spin(100);
	return r;
}

static NOINLINE void other(int n)
{
	deep(n % 7);
	spin(500);
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
	int rounds = atoi(argv[argc - 1]);

	kind = argv[1];
	sigaction(SIGILL, &act, NULL);
	for (int i = 0; i < rounds; i++) {
		deep(i % 60);
		other(i);
	}
	printf("%lu\n", handled);
	return 0;
}
