// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Interposes prctl(), so that sampling ends before a program forbids itself the time-stamp counter.
 * seccomp's strict mode also forbids it. The clock that the self sampler's handler reads would kill
 * such a program.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include "internal.h"
#include "syscall.h"

__attribute__((visibility("default"))) int prctl(int option, ...)
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
	if ((option == PR_SET_TSC && a[0] == PR_TSC_SIGSEGV) ||
	    (option == PR_SET_SECCOMP && a[0] == SECCOMP_MODE_STRICT))
		self_clock_forbidden();
	ret = raw_syscall5(SYS_prctl, option, a[0], a[1], a[2], a[3]);
	if (ret < 0) {
		errno = (int)-ret;
		return -1;
	}
	return (int)ret;
}
