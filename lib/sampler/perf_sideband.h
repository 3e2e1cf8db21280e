/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What happens to processes while they are sampled: the kernel's own records of forks,
 * execs, exits and executable mappings. */
#ifndef PCCE_SAMPLER_PERF_SIDEBAND_H
#define PCCE_SAMPLER_PERF_SIDEBAND_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum sideband_type {
	SIDEBAND_FORK, /* a process (pid != ppid) or thread began */
	SIDEBAND_EXIT, /* a thread ended */
	SIDEBAND_COMM, /* a thread was named */
	SIDEBAND_EXEC, /* a process did an exec, and was named */
	SIDEBAND_MAP,
	SIDEBAND_LOST
};

struct sideband_event {
	enum sideband_type type;
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	pid_t pid, tid;
	pid_t ppid, ptid;	       /* FORK */
	uint64_t start, length, pgoff; /* MAP */
	uint64_t count;		       /* LOST: records */
	const char *name;	       /* COMM, EXEC: comm; MAP: path; else "" */
};

struct sideband;

/* All processes of the system, all CPUs. 0, or -errno with one sentence in why. */
int sideband_open(struct sideband **out, char *why, size_t why_size);
void sideband_close(struct sideband *s);

/* Adds the descriptors that become readable to an epoll instance. 0 or -errno. */
int sideband_watch(const struct sideband *s, int epoll);

/* Hands out what has come, in order for each CPU. Stops at the first non-zero result and returns it. */
int sideband_read(struct sideband *s, int (*event)(void *ctx, const struct sideband_event *e), void *ctx);

#endif
