/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Lets SIGALRM arrive every 200 us, at any instruction. */
#ifndef PCCE_COUNT_ALARMS_H
#define PCCE_COUNT_ALARMS_H

#include <signal.h>
#include <string.h>
#include <sys/time.h>

static inline __attribute__((always_inline)) void begin_alarms(void (*handler)(int))
{
	struct itimerval often = {{0, 200}, {0, 200}};
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_handler = handler;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static inline __attribute__((always_inline)) void end_alarms(void)
{
	struct itimerval never;

	memset(&never, 0, sizeof(never));
	setitimer(ITIMER_REAL, &never, NULL);
}

#endif
