/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds the running processes that -p names, and knows when they have ended. */
#ifndef PCCE_RECORD_TARGETS_H
#define PCCE_RECORD_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct targets { /* empty: all zeros */
	pid_t *pids;
	int *fds; /* of the processes */
	size_t n;
};

/* Is this such a list, with no empty word? */
bool targets_are_named(const char *list);
/* Adds the processes of a list like "12,sshd": numbers of processes, or names of commands, of which
 * all processes are meant. 0, or -errno after a message. */
int targets_add(struct targets *t, const char *list);
/* Have all ended? */
bool targets_have_ended(const struct targets *t);
bool targets_have(const struct targets *t, pid_t pid);
void targets_free(struct targets *t);

#endif
