/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Loads the BPF program into the kernel and attaches it to events. */
#ifndef PCCE_SAMPLER_BPF_LOAD_H
#define PCCE_SAMPLER_BPF_LOAD_H

#include <stddef.h>
#include "bpf/sampler.h"
#include "sampler/perf_event.h"
#include "sampler/sampler.h"
#include "sampler.skel.h"
#include "base/error.h"

/* The programs of one event. */
struct bpf_program_config {
	enum perf_event_kind kind;
	const struct perf_event_attr *attr;
	enum sampler_copy copy;
	uint32_t number; /* of the event */
	/* Only of waits (perf_event_kind_waits()): ns; and the process runs already. */
	uint64_t wait_period;
	bool running;
	bool holders; /* PERF_EVENT_LOCKS only: the next event is PERF_EVENT_HOLDERS */
	const struct sampler_system *system; /* NULL: not the whole system */
	bool guarded; /* programs of the recording can interrupt each other */
	/* Programs of the same recording, whose maps they share; NULL: they are the first. */
	const struct sampler_bpf *first;
};

/* Loads them. Returns 0, or -errno with the reason in why. */
int bpf_program_load(const struct bpf_program_config *c, struct sampler_bpf **out,
		     struct error *why);

/* Makes the event run the program. 0 or -errno. */
int bpf_program_attach(const struct sampler_bpf *skel, enum perf_event_kind kind, int event);

/* Follows a process, for tracepoints, probes and waits: all programs share these maps. pid: the
 * recorder's number. armed: false: from its next exec on. 0 or -errno. */
int bpf_program_follow(const struct sampler_bpf *skel, pid_t pid, bool armed);

/* Notes which threads wait, if the process runs already; of locks at any time. 0 or -errno. */
int bpf_program_begin_waits(struct sampler_bpf *skel);

/* Stops the programs for waits, and takes samples of all threads that still wait. 0 or -errno. */
int bpf_program_end_waits(struct sampler_bpf *skel);

/* Whether the kernel counts what bpf_program_missed() returns. */
bool bpf_counts_missed(void);

/* Returns how often the kernel did not run the program on a tracepoint or on a probe in the kernel,
 * because a BPF program was running on that CPU. Kernels before 6.7 do not count this: 0. */
uint64_t bpf_program_missed(const struct sampler_bpf *skel, enum perf_event_kind kind);

#endif
