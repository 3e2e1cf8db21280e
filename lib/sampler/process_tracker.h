/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The processes that a recording follows: from the side band's events of the whole system
 * to a sink's calls for those processes.
 */
#ifndef PCCE_SAMPLER_PROCESS_TRACKER_H
#define PCCE_SAMPLER_PROCESS_TRACKER_H

#include <stdbool.h>
#include "sampler/sampler.h"
#include "sampler/perf_sideband.h"

struct process_tracker;

struct process_tracker *process_tracker_new(void);
void process_tracker_free(struct process_tracker *f);

/* Follows a process; what happened before since is none of its business. 0 or -ENOMEM. */
int process_tracker_add(struct process_tracker *f, pid_t pid, unsigned int threads,
			const char *comm, uint64_t since);
bool process_tracker_has(const struct process_tracker *f, pid_t pid);

/* One event, in order of time. 0, or the sink's error. */
int process_tracker_event(struct process_tracker *f, const struct perf_sideband_event *e,
			  const struct sampler_sink *sink);

/* Tells the sink what a running process is at this moment: its name, threads and executable
 * mappings. */
int process_tracker_snapshot(pid_t pid, uint64_t time, const struct sampler_sink *sink);

#endif
