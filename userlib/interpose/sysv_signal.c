// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interposes System V's and 4.2BSD's functions for handlers and masks of signals. The C library
 * builds them on its own sigaction and sigprocmask, so those of the runtime would not be called.
 *
 * They do what the C library's do (XPG4 and 4.2BSD), by the runtime's sigaction and sigprocmask.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include "interpose/own.h"

/* Changes the mask by one signal. */
static int change_one(int how, int sig, sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	return sigaddset(&set, sig) ? -1 : pcce_own_sigprocmask(how, &set, old);
}

sighandler_t pcce_own_sigset(int sig, sighandler_t handler)
{
	struct sigaction act = {.sa_handler = handler}, old;
	sigset_t mask;

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (pcce_own_sigaction(sig, handler == SIG_HOLD ? NULL : &act, &old) ||
	    change_one(handler == SIG_HOLD ? SIG_BLOCK : SIG_UNBLOCK, sig, &mask))
		return SIG_ERR;
	return sigismember(&mask, sig) ? SIG_HOLD : old.sa_handler;
}

PUBLIC_NAME(sigset, sigset);

int pcce_own_sigignore(int sig)
{
	struct sigaction act = {.sa_handler = SIG_IGN};

	return pcce_own_sigaction(sig, &act, NULL);
}

PUBLIC_NAME(sigignore, sigignore);

int pcce_own_sighold(int sig)
{
	return change_one(SIG_BLOCK, sig, NULL);
}

PUBLIC_NAME(sighold, sighold);

int pcce_own_sigrelse(int sig)
{
	return change_one(SIG_UNBLOCK, sig, NULL);
}

PUBLIC_NAME(sigrelse, sigrelse);

/* 4.2BSD: a mask has signals 1 to 32. */
static int change_low(int how, int mask)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigemptyset(&old);
	*(uint64_t *)&set = (uint32_t)mask;
	return pcce_own_sigprocmask(how, &set, &old) ? -1 : (int)*(uint64_t *)&old;
}

int pcce_own_sigblock(int mask)
{
	return change_low(SIG_BLOCK, mask);
}

PUBLIC_NAME(sigblock, sigblock);

int pcce_own_sigsetmask(int mask)
{
	return change_low(SIG_SETMASK, mask);
}

PUBLIC_NAME(sigsetmask, sigsetmask);

int pcce_own_siggetmask(void)
{
	return change_low(SIG_BLOCK, 0);
}

PUBLIC_NAME(siggetmask, siggetmask);
