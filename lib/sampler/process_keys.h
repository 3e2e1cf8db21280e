/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the names of the keys of labels out of a process's context (OTEP 4719). */
#ifndef PCCE_SAMPLER_PROCESS_KEYS_H
#define PCCE_SAMPLER_PROCESS_KEYS_H

#include <stddef.h>
#include <sys/types.h>

#define PROCESS_KEYS_MAX 256

struct process_keys {
	char *names[PROCESS_KEYS_MAX]; /* NULL: not known */
};

/* Adds the names that the process has published, if it has any. */
void process_keys_read(struct process_keys *k, pid_t pid);
void process_keys_free(struct process_keys *k);

#endif
