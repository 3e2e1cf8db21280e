/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The recorder's private directory, in which processes that sample themselves make
 * their rings (include/pcce/selfring.h).
 *
 * A recorder that was killed leaves it behind.  Its lock on the file PCCE_SELF_OWNER is gone then,
 * so whoever records next, as the same user, knows and removes it.
 */
#ifndef PCCE_SAMPLER_SELF_DIRECTORY_H
#define PCCE_SAMPLER_SELF_DIRECTORY_H

#include <limits.h>

struct self_directory {
	char path[PATH_MAX]; /* "": none */
	int owner;	     /* holds the lock */
};

/* Also removes those that others have left behind. 0 or -errno. */
int self_directory_make(struct self_directory *d);
void self_directory_remove(struct self_directory *d);

#endif
