/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Opens the perf events of the bpf sampler, which run its program: for threads or for CPUs. */
#ifndef PCCE_SAMPLER_BPF_PROBE_H
#define PCCE_SAMPLER_BPF_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "bpf/sampler.h"
#include "probe/event.h"
#include "sampler/bpf_load.h"
#include "sampler/event_queue.h"
#include "sampler/perf_event.h"
#include "sampler/sampler.h"

/* What belongs to one event of the recording. */
struct bpf_probe {
	const struct sampler_event *event;
	struct perf_event_attr attr;
	enum perf_event_kind kind;
	struct probe_event probe; /* PERF_EVENT_PROBE: its places */
	bool moves; /* the address of a breakpoint is one of the program, which the kernel moves */
	struct sampler_bpf *skel;
	int *fds; /* perf events */
	size_t n_fds;
	struct watched *watched; /* threads that have one of them, or inherited one */
	uint64_t noted;		 /* when the places of waits were noted last */
	uint64_t taken;
	struct sampler_counts told; /* what the sink was told of losses */
	struct {
		/* Counts at the last turn with events. */
		uint64_t missed, followed, others;
		bool foreign; /* all events of that turn were of other processes */
	} tracepoint;
};

/* The threads of running processes that were created while their events were being opened. */
struct bpf_births {
	const pid_t *pids; /* the processes: n_pids */
	size_t n_pids;
	struct birth {
		pid_t tid, parent;
		uint64_t time;
	} * of;
	size_t n;
};

/* Functions that open events return 0, or -errno. */

/* For a command: its exec enables the event. */
int bpf_probe_command(struct bpf_probe *p, pid_t pid);
/* For a command that has executed its program: enabled. */
int bpf_probe_executed(struct bpf_probe *p, pid_t pid);
/* One for all runs of the tracepoint, or one for each place of the probe. */
int bpf_probe_everywhere(struct bpf_probe *p);
/* Enabled, for all threads on these CPUs. */
int bpf_probe_cpus(struct bpf_probe *p, const struct sampler_system *system);
/* Enabled, for all threads of running processes. Those that have ended are left out. */
int bpf_probe_running(struct bpf_probe *p, struct bpf_births *births, struct event_queue *queue);
/* Opens new events for these threads of a process. No thread may get two events: threads that are
 * created later inherit theirs. */
int bpf_probe_again(struct bpf_probe *p, const struct perf_sideband_event *exec, const pid_t *tids,
		    size_t n);

void bpf_probe_disable(struct bpf_probe *p);
void bpf_probe_close(struct bpf_probe *p);

#endif
