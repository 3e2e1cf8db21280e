/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Starts a command that waits before its exec until the recorder is ready to watch it. */
#ifndef PCCE_BASE_CHILD_H
#define PCCE_BASE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int go;	    /* the child does its exec when this pipe is closed */
	int result; /* a pipe: the error of its exec, or end of file when that succeeded */
	struct sigaction old_int, old_term; /* before the recorder caught these signals: the child
					       ignores those that were ignored */
	struct rlimit old_files; /* before the recorder raised it; rlim_max 0: not known */
};

/* Returns the file that execvp would run, for the caller to free; NULL and -errno in *err if there
 * is none. */
char *child_find(const char *name, int *err);

/* Whether a command started now has the runtime, libpcce.so.0, in front of the C library. */
bool child_preloads_runtime(void);

/* Forks the child, which waits. 0 or -errno. */
int child_fork(struct child *c, char **argv);

/* Lets the child do its exec. 0, or -errno if that failed: the process has ended then. */
int child_release(struct child *c);

/* Kills a child that has not been released. */
void child_cancel(struct child *c);

#endif
