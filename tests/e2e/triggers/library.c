/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Calls back from an instrumented library, through two functions, and asks in the library. */
#include "library.h"

static __attribute__((noinline, noclone)) void inner(void (*callback)(void))
{
	callback();
	__asm__ volatile("");
}

void library_call(void (*callback)(void))
{
	inner(callback);
	__asm__ volatile("");
}

int library_test(struct pcce_contexts *set)
{
	return pcce_on_context(set);
}
