// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * pthread_sigmask and sigprocmask, as far as the self sampler must know; while nobody
 * samples they pass everything on.
 *
 * Threads that block all signals, as worker threads and critical sections do, still
 * get ours.  A set that names it among a few is meant as it is: somebody wants to wait
 * for it; and our own handler (the unwinder blocks signals around its locks) stays
 * undisturbed.
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
		bits &= ~(3ULL << (32 - 1)); /* the C library's own: cancellation and setxid */
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
