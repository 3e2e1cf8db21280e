/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the runtime's functions that replace those of the C library.
 *
 * A program may define such a function itself. Its definition prevails, so build.mk makes the
 * public names weak. pcce_own_NAME is the runtime's NAME in any case. The runtime calls it by that
 * name, and own_next.c gives it to a program that looks for the next NAME.
 */
#ifndef PCCE_USERLIB_OWN_H
#define PCCE_USERLIB_OWN_H

#include <signal.h>

/* Makes `name` a public name of pcce_own_OWN. */
#define PUBLIC_NAME(name, own)                 \
	extern __typeof__(pcce_own_##own) name \
		__attribute__((alias("pcce_own_" #own), visibility("default"), nothrow, leaf))

#pragma GCC visibility push(hidden)

int pcce_own_sigaction(int sig, const struct sigaction *act, struct sigaction *old);
int pcce_own_sigprocmask(int how, const sigset_t *set, sigset_t *old);

#pragma GCC visibility pop

#endif
