// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Asks for the context in a signal handler.  run.sh links it with programs, or preloads it;
 * tests/oracle/capture.c sends the signal and reads the results.  Without the stepper it does
 * nothing.
 */
#include <signal.h>
#include <stddef.h>
#include "tests/oracle/capture_area.h"

/* Threads take turns: the stepper lets none run while another one is in the handler. */
static struct capture_area area;

/* The stepper continues the program. */
static inline void show(int calls)
{
	__asm__ volatile("int3" : : "D"(&area), "S"(calls) : "memory");
}

static void capture(int sig)
{
	(void)sig;
	area.result = (__u64)pcce_capture(&area.context,
					  sizeof(area) - offsetof(struct capture_area, context));
	show(1);
	area.name = pcce_context_id();
	show(2);
}

/* Other signals wait, except that of int3. */
__attribute__((constructor)) static void install(void)
{
	struct sigaction action = {.sa_handler = capture, .sa_flags = SA_RESTART};

	sigfillset(&action.sa_mask);
	sigdelset(&action.sa_mask, SIGTRAP);
	sigaction(CAPTURE_SIGNAL, &action, NULL);
}
