// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interposes pthread_sigmask and sigprocmask, so that threads that block all signals are still
 * sampled. Worker threads and critical sections do so. The kernel never blocks the sampling signal
 * for them; the program is told that it does (self/signal.c).
 */
#include <errno.h>
#include <signal.h>
#include "internal.h"
#include "interpose/own.h"
#include "base/syscall.h"

static int change_mask(int how, const sigset_t *set, sigset_t *old)
{
	bool was_masked = pcce_thread_self()->masks_signal;
	uint64_t bits, result;
	long ret;

	if (set) {
		bits = *(const uint64_t *)set;
		bits &= ~(3ULL << (32 - 1)); /* the C library's: cancellation and setxid */
		bits = self_filter_mask(how, bits, &was_masked);
	}
	ret = raw_syscall4(SYS_rt_sigprocmask, how, set ? &bits : NULL, old ? &result : NULL,
			   sizeof(bits));
	if (ret == 0 && old) {
		sigemptyset(old);
		*(uint64_t *)old = result | (was_masked ? self_signal_bit() : 0);
	}
	if (ret < 0 && set)
		pcce_thread_self()->masks_signal = was_masked;
	else if (set)
		self_mask_changed();
	return (int)-ret;
}

int pcce_own_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return change_mask(how, set, old);
}

PUBLIC_NAME(pthread_sigmask, pthread_sigmask);

int pcce_own_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int error = change_mask(how, set, old);

	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

PUBLIC_NAME(sigprocmask, sigprocmask);
