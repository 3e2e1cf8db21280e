// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interposes pthread_sigmask and sigprocmask, so that threads that block all signals are still
 * sampled.
 *
 * Worker threads and critical sections block all signals; they still get the sampling signal. A set
 * that names it among a few signals stays as it is: the program wants to wait for the signal. In
 * the self sampler's handler masks stay as they are, too, since the unwinder blocks signals around
 * its locks. If no sampler is active, the functions pass everything on.
 */
#include <errno.h>
#include <signal.h>
#include "internal.h"
#include "syscall.h"

#define PUBLIC __attribute__((visibility("default")))
#define FEW_SIGNALS 12

static int change_mask(int how, const sigset_t *set, sigset_t *old)
{
	uint64_t bits, result;
	long ret;

	if (set) {
		bits = *(const uint64_t *)set;
		bits &= ~(3ULL << (32 - 1)); /* the C library's: cancellation and setxid */
		if (self_active() && how != SIG_UNBLOCK && !pcce_thread_self()->in_handler &&
		    count_bits(bits) > FEW_SIGNALS)
			bits &= ~(1ULL << (self_signal - 1));
	}
	ret = raw_syscall4(SYS_rt_sigprocmask, how, set ? &bits : NULL, old ? &result : NULL,
			   sizeof(bits));
	if (ret == 0 && old) {
		sigemptyset(old);
		*(uint64_t *)old = result;
	}
	return (int)-ret;
}

PUBLIC int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	return change_mask(how, set, old);
}

PUBLIC int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	int error = change_mask(how, set, old);

	if (error == 0)
		return 0;
	errno = error;
	return -1;
}
