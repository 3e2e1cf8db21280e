/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Follows processes: filters the side band's events of the whole system, and calls a sink for the
 * followed processes.
 */
#ifndef PCCE_SAMPLER_PROCESS_TRACKER_H
#define PCCE_SAMPLER_PROCESS_TRACKER_H

#include <stdbool.h>
#include "sampler/sampler.h"
#include "sampler/perf_sideband.h"

struct process_tracker;

struct process_tracker *process_tracker_new(void);
void process_tracker_free(struct process_tracker *f);

/* Follows a process from the time `since` on. 0 or -ENOMEM. */
int process_tracker_add(struct process_tracker *f, pid_t pid, unsigned int threads,
			const char *comm, uint64_t since);
/* Follows all processes that the side band tells of. */
void process_tracker_all(struct process_tracker *f);
bool process_tracker_has(const struct process_tracker *f, pid_t pid);

/* Handles one event, in the order of time. 0, or the sink's error. */
int process_tracker_event(struct process_tracker *f, const struct perf_sideband_event *e,
			  struct stream *sink);

/* Tells the sink the current name, threads and executable mappings of a running process, if it has
 * not ended. */
int process_tracker_snapshot(pid_t pid, uint64_t time, struct stream *sink);

/* Calls it for each process that runs. Stops at the first result that is not 0, and returns it. */
int process_tracker_list(int (*process)(void *ctx, pid_t pid), void *ctx);

#endif
