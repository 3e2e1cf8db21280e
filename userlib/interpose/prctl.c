// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interposes prctl() and syscall(), to learn before it happens that the program makes a task in its
 * own memory (clone.c), or confines itself:
 *
 *  - It forbids itself the time-stamp counter (PR_SET_TSC, and seccomp's strict mode). The clock
 *    that the self sampler's handler reads would kill it, so sampling ends.
 *  - It installs a seccomp filter: see confined.c. If the kernel refuses a filter, the runtime
 *    stays careful all the same.
 *
 * syscall_stub.S is syscall() itself, and calls pcce_watch_syscall() here. The C library has no
 * function for seccomp(2); libseccomp calls syscall().
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include "base/confined.h"
#include "internal.h"
#include "interpose/own.h"
#include "base/syscall.h"

static void watch_prctl(unsigned long option, unsigned long a, unsigned long b)
{
	if (option == PR_SET_TSC && a == PR_TSC_SIGSEGV)
		self_clock_forbidden();
	if (option != PR_SET_SECCOMP)
		return;
	if (a == SECCOMP_MODE_STRICT) {
		self_clock_forbidden();
		confined_by_strict_mode();
	} else if (a == SECCOMP_MODE_FILTER) {
		if (!confined_returns((const struct sock_fprog *)b))
			self_forbidden();
		confined_by_filter((const struct sock_fprog *)b);
	}
}

/* syscall_stub.S: before the system calls whose numbers it looks for. */
__attribute__((visibility("hidden"))) void pcce_watch_syscall(unsigned long number, unsigned long a,
							      unsigned long b, unsigned long c)
{
	if (number == SYS_prctl)
		watch_prctl(a, b, c);
	else if (number == SYS_seccomp && a == SECCOMP_SET_MODE_STRICT)
		watch_prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0);
	else if (number == SYS_seccomp && a == SECCOMP_SET_MODE_FILTER)
		watch_prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, c);
}

/* syscall_stub.S: the end of a system call that failed. */
long pcce_syscall_error(long error)
{
	errno = (int)-error;
	return -1;
}

int pcce_own_prctl(int option, ...)
{
	unsigned long a[4];
	va_list args;
	long ret;

	va_start(args, option);
	for (int i = 0; i < 4;
	     /* As many as the kernel takes; they are in registers whether the caller gave them or
	      * not. */
	     i++)
		a[i] = va_arg(args, unsigned long);
	va_end(args);
	watch_prctl((unsigned long)option, a[0], a[1]);
	ret = raw_syscall5(SYS_prctl, option, a[0], a[1], a[2], a[3]);
	return ret < 0 ? (int)pcce_syscall_error(ret) : (int)ret;
}

PUBLIC_NAME(prctl, prctl);
