// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Calls leaf() while signals come at any instruction. Their handler calls it, too, and now and then
 * leaves with a jump.
 */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline, noclone))

extern "C" NOINLINE int leaf(int k)
{
	__asm__ volatile("");
	return k + 1;
}

static int (*volatile pointer)(int) = leaf;
static volatile unsigned long handled;
static sigjmp_buf jump;
static volatile bool armed;
/* On a slow machine signals come faster than handlers end.  Then the timer rests for a round. */
static volatile int nested;
static volatile bool rests;

static void handle(int)
{
	const itimerval none = {};

	handled++;
	nested = nested + 1;
	if (nested == 50) {
		setitimer(ITIMER_REAL, &none, nullptr);
		rests = true;
	}
	pointer(1);
	if (armed && handled % 7 == 0)
		siglongjmp(jump, 1);
	nested = nested - 1;
}

NOINLINE static int recursive(int n)
{
	return n ? recursive(n - 1) + leaf(n) : 0;
}

int main(int, char **argv)
{
	const long rounds = atol(argv[1]);
	struct sigaction action = {};
	itimerval interval = {{0, 50}, {0, 50}};
	const itimerval none = {};
	volatile long calls = 0;

	action.sa_handler = handle;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGALRM, &action, nullptr);
	setitimer(ITIMER_REAL, &interval, nullptr);
	for (volatile long done = 0; done < rounds; done = done + 1) {
		if (!sigsetjmp(jump, 1)) {
			armed = true;
			for (int i = 0; i < 50; i++) {
				pointer(i);
				leaf(i);
			}
			recursive(20);
		}
		armed = false;
		nested = 0;
		if (rests) {
			rests = false;
			setitimer(ITIMER_REAL, &interval, nullptr);
		}
		calls = calls + 100;
	}
	setitimer(ITIMER_REAL, &none, nullptr);
	printf("%ld\n", calls);
	return 0;
}
