/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares what the runtime knows of the program's own confinement (confined.c).
 */
#ifndef PCCE_USERLIB_CONFINED_H
#define PCCE_USERLIB_CONFINED_H

#include <stdbool.h>
#include <stddef.h>

/* Once the program has confined itself with seccomp, the runtime makes no system call that it has
 * not made before. What it cannot do then is left out and marked. */
#define CONFINED 1u
#define CONFINED_NO_MMAP 2u /* new memory is refused */
#define CONFINED_NO_GETTID 8u
#define CONFINED_STRICT 4u /* strict mode: no clock either */

/* Shared by all copies of the runtime in a process. Weak: a library may meet an older runtime. */
extern volatile unsigned int pcce_confinement __attribute__((weak));

static inline bool is_confined(unsigned int how)
{
	return &pcce_confinement != NULL && (pcce_confinement & how);
}

#pragma GCC visibility push(hidden)

struct sock_fprog;

/* Notes strict mode, or a filter, that the program is about to install. */
void confined_by_strict_mode(void);
void confined_by_filter(const struct sock_fprog *filter);
/* Does the filter allow the return from a signal handler? */
bool confined_returns(const struct sock_fprog *filter);

#pragma GCC visibility pop

#endif
