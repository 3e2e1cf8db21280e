/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Knows which of the recorded processes still run, are traced, or have executed a program. */
#ifndef PCCE_RECORD_RUNNING_H
#define PCCE_RECORD_RUNNING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/id_map.h"

struct running { /* empty: all zeros */
	struct id_map pids;
	struct seen_process {
		pid_t pid;
		uint64_t last; /* time of the last record, CLOCK_MONOTONIC */
	} * seen;	       /* by number in pids */
	size_t n, capacity;
};

/* A sampler has found the process, at this time. 0 or -ENOMEM. */
int running_note(struct running *r, pid_t pid, uint64_t time);
/* How many of the processes, apart from one, still run? */
size_t running_count(const struct running *r, pid_t except);
/* The first of the processes that another process than this one traces now; 0: none. Only the first
 * few are looked at. */
pid_t running_traced(const struct running *r);
void running_free(struct running *r);

/* A number that a process keeps until it executes a program. 0: not known. */
uint64_t running_image(pid_t pid);

#endif
