/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the side band: the kernel's records of forks, execs, exits and executable mappings during
 * the recording. */
#ifndef PCCE_SAMPLER_PERF_SIDEBAND_H
#define PCCE_SAMPLER_PERF_SIDEBAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/error.h"

enum perf_sideband_type {
	SIDEBAND_FORK, /* a process (pid != ppid) or thread began */
	SIDEBAND_EXIT, /* a thread ended */
	SIDEBAND_COMM, /* a thread was named */
	SIDEBAND_EXEC, /* a process did an exec, and was named */
	SIDEBAND_MAP,
	SIDEBAND_LOST
};

struct perf_sideband_event {
	enum perf_sideband_type type;
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	pid_t pid, tid;
	pid_t ppid, ptid;	       /* FORK */
	uint64_t start, length, pgoff; /* MAP */
	uint64_t ino;		       /* MAP: of the file */
	uint64_t count;		       /* LOST: records */
	const char *name;	       /* COMM, EXEC: comm; MAP: path; else "" */
};

struct perf_sideband;

/* Opens the side band for all processes and CPUs. 0, or -errno with the reason in why. */
int perf_sideband_open(struct perf_sideband **out, struct error *why);
void perf_sideband_close(struct perf_sideband *s);

/* Adds all descriptors to an epoll instance. 0 or -errno. */
int perf_sideband_watch(const struct perf_sideband *s, int epoll);

/* Passes new events to event(), in order for each CPU. Stops at the first result that is not 0, and
 * returns it. */
int perf_sideband_read(struct perf_sideband *s,
		       int (*event)(void *ctx, const struct perf_sideband_event *e), void *ctx);

#endif
