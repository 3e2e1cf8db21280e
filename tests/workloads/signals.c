/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Interrupts a recursion by a timer signal.  The handler works and calls through a pointer,
 * and another signal interrupts the handler.
 *
 * marked: 2
 * step: --signal=ALRM,97
 * expect: (^|;)main;.*recurse;.*burn( |;)
 * expect: on_timer;handle;burn( |;)
 */
#include <signal.h>
#include <sys/time.h>
#include "burn.h"

static volatile sig_atomic_t ticks, nested;

static void handle(int n)
{
	burn(20000 + (unsigned int)n);
	burnt++;
}

static void (*volatile handle_pointer)(int) = handle;

static void on_usr1(int sig)
{
	(void)sig;
	nested++;
	burn(5000);
}

static void on_timer(int sig)
{
	ticks++;
	handle_pointer(sig);
	if (ticks % 3 == 0)
		raise(SIGUSR1);
	burn(100);
}

static NOINLINE unsigned int recurse(unsigned int depth)
{
	unsigned int r;

	burn(50);
	if (depth == 0)
		return 1;
	r = recurse(depth - 1);
	burn(1);
	return r + 1;
}

int main(void)
{
	struct sigaction sa = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	/* no multiple of a sampling period */
	struct itimerval often = {{0, ROUNDS(1037, 0)}, {0, 1037}}, never = {{0, 0}, {0, 0}};
	unsigned int sum = 0;

	signal(SIGUSR1, on_usr1);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned int i = 0; i < ROUNDS(1000000, 30); i++)
		sum += recurse(i % 30);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%u %s\n", sum, ticks > 10 && nested > 3 ? "interrupted" : "never interrupted");
	return 0;
}
