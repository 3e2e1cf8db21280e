/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Manages the recorder's private directory, in which processes that sample themselves create their
 * rings (include/pcce/selfring.h).
 *
 * A command that root records may give up its privileges before the program begins (setpriv, gosu).
 * So root's rings are in a folder in which every user can create files, and remove only their own
 * (mode 1733). Its random name is the protection from other users: it lies in a folder that nobody
 * else can list (0711), and only recorded processes are told. For other recorders both folders are
 * private (0700).
 *
 * A killed recorder leaves its directory behind, but not its lock on the file PCCE_SELF_OWNER. So
 * the next recorder of the same user finds the directory and removes it.
 */
#ifndef PCCE_SAMPLER_SELF_DIRECTORY_H
#define PCCE_SAMPLER_SELF_DIRECTORY_H

#include <limits.h>

struct self_directory {
	char path[PATH_MAX];  /* "": none */
	char rings[PATH_MAX]; /* the folder in it for the rings */
	int owner;	      /* holds the lock */
};

/* Creates the directory, and removes abandoned ones. 0 or -errno. */
int self_directory_make(struct self_directory *d);
void self_directory_remove(struct self_directory *d);

#endif
