/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the crash handler (crash.c) and its stacks (crash_stack.c). */
#ifndef PCCE_USERLIB_CRASH_H
#define PCCE_USERLIB_CRASH_H

#include <stdbool.h>

struct pcce_thread;

#pragma GCC visibility push(hidden)

/* Installs the handler if the environment has PCCE_CRASH. */
void crash_begin(void);
/* Has it been installed? Then threads have stacks for it. */
extern bool crash_installed;
void crash_thread_begin(struct pcce_thread *t);
void crash_thread_end(struct pcce_thread *t);

#pragma GCC visibility pop

#endif
