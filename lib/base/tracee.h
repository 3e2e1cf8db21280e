/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Stops a child process at its exec. */
#ifndef PCCE_BASE_TRACEE_H
#define PCCE_BASE_TRACEE_H

#include <sys/types.h>

/* Traces a process, which will stop at its exec (SIGTRAP, PTRACE_EVENT_EXEC), and at system calls
 * with SIGTRAP | 0x80. 0 or -errno. */
int tracee_attach(pid_t pid);
/* Waits until the process stops for this reason. Passes on all signals until then. 0, or -errno;
 * -ESRCH: it has ended. */
int tracee_wait(pid_t pid, int signal, int event);

#endif
