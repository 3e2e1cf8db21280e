/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Starting a command that waits before its exec until everything is ready to watch it. */
#ifndef PCCE_BASE_CHILD_H
#define PCCE_BASE_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int go;	    /* close to let it go */
	int result; /* the error of its exec comes here, or the end of the file */
	struct sigaction old_int,
		old_term; /* before the recorder caught them: what is ignored stays so */
};

/* The file that execvp would run, malloc'ed; NULL and -errno in *err if there is none. */
char *child_find(const char *name, int *err);

/* 0 or -errno. */
int child_fork(struct child *c, char **argv);

/* Lets it do its exec: 0 when that succeeded, -errno when it failed; then the process has ended. */
int child_release(struct child *c);

/* Ends it before it has begun. */
void child_cancel(struct child *c);

#endif
