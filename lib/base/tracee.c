/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See tracee.h. */
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/tracee.h"

int tracee_attach(pid_t pid)
{
	return ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) ? -errno
											: 0;
}

int tracee_wait(pid_t pid, int signal, int event)
{
	int status;

	for (;;) {
		if (waitpid(pid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!WIFSTOPPED(status))
			return -ESRCH;
		if (WSTOPSIG(status) == signal && status >> 16 == event)
			return 0;
		if (ptrace(PTRACE_CONT, pid, 0, status >> 16 ? 0 : WSTOPSIG(status)))
			return -errno;
	}
}
