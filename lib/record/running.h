/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Knows which of the recorded processes still run, were traced, or have executed a program. */
#ifndef PCCE_RECORD_RUNNING_H
#define PCCE_RECORD_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <pcce/datafile.h>
#include "base/id_map.h"

struct running { /* empty: all zeros */
	struct id_map pids;
	struct seen_process {
		pid_t pid;
		uint64_t last;	/* time of the last record, CLOCK_MONOTONIC */
		uint64_t asked; /* time of the last question for its tracer */
		bool traced;	/* also: some time ago, or before the fork */
		bool ended;
		bool instrumented; /* it has or had mapped an instrumented module */
	} * seen;		   /* by number in pids */
	size_t n, capacity;
	bool all; /* look for tracers of processes that are not instrumented, too */
};

/* A sampler has found the process. 0 or -ENOMEM. */
int running_note(struct running *r, const struct pcce_rec_process *p);
/* The process has mapped an instrumented module. */
void running_note_instrumented(struct running *r, pid_t pid);
/* How many of the processes, apart from one, still run? */
size_t running_count(const struct running *r, pid_t except);
/* Is or was the process traced by another one than this? Or the process that it is a copy of?
 * *first: it was not so at the last look. */
bool running_look(struct running *r, pid_t pid, bool *first);
/* The same for a process that has a sample, which says whether its thread is traced now. */
bool running_sample(struct running *r, pid_t pid, bool traced, bool *first);
void running_free(struct running *r);

/* A number that a process keeps until it executes a program. 0: not known. */
uint64_t running_image(pid_t pid);

#endif
