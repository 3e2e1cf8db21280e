/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Translates the argument of -e to the attributes of perf_event_open, and explains its errors. */
#ifndef PCCE_SAMPLER_PERF_EVENT_H
#define PCCE_SAMPLER_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <linux/perf_event.h>
#include "sampler/sampler.h"
#include "base/error.h"
#include "probe/event.h"

enum perf_event_kind {
	PERF_EVENT_CLOCK,      /* a sample represents a span of time */
	PERF_EVENT_COUNT,      /* a sample represents a number of events */
	PERF_EVENT_TRACEPOINT, /* each event is a sample */
	PERF_EVENT_PROBE,      /* each hit of a probe is a sample; probe/event.h finds its places */
	PERF_EVENT_WAITS,      /* a sample represents time off CPUs: no event of perf */
	PERF_EVENT_LOCKS,      /* a sample represents time that a thread waited for a futex */
	PERF_EVENT_HOLDERS,    /* the same time, by who ended the wait: comes with the former */
	PERF_EVENT_ALLOCATION, /* a sample represents allocated bytes: no event of perf */
};

/* Prints the names of all events but tracepoints, in lines of at most 78 columns. */
void perf_event_print_names(FILE *out);

/* Whether the event happens so rarely that each one is a sample by default: software events but the
 * clocks, and tracepoints. With a frequency, the kernel guesses how many events a sample of them
 * represents, and is mostly wrong. */
bool perf_event_is_rare(const char *name);

/* The name of PERF_EVENT_HOLDERS. */
#define PERF_EVENT_HOLDER "lock:holder"

/* Whether the programs for waits take the samples of such an event. */
static inline bool perf_event_kind_waits(enum perf_event_kind kind)
{
	return kind == PERF_EVENT_WAITS || kind == PERF_EVENT_LOCKS || kind == PERF_EVENT_HOLDERS;
}

/* Whether the event samples waits (perf_event_kind_waits()). */
bool perf_event_is_waits(const char *name);
/* Whether the event samples waits for futexes, by who waits (PERF_EVENT_LOCKS). */
bool perf_event_is_locks(const char *name);
/* Whether the event samples allocations (PERF_EVENT_ALLOCATION). */
bool perf_event_is_allocations(const char *name);

/* Sets all attributes for sampling a command or a process, and what modifiers such as :u mean.
 * 0, or -errno with the reason in why. */
int perf_event_make_attr(const struct sampler_event *event, struct perf_event_attr *attr,
			 enum perf_event_kind *kind, struct error *why);

/* Finds the places of a probe, in the recorded program if its name has no file (probe/event.h). */
int perf_event_find_probe(const struct sampler_config *config, const char *name,
			  struct probe_event *out, struct error *why);

/* Sets the attributes of a breakpoint in memory (probe/memory.h). */
int perf_event_find_memory(const struct sampler_config *config, const char *name,
			   struct perf_event_attr *attr, bool *moves, struct error *why);

/* Writes the path of the recorded program, or of the first process, to a buffer if need be. NULL:
 * there is none. */
#define PERF_EVENT_PROGRAM 32
const char *perf_event_program(const struct sampler_config *config,
			       char buffer[PERF_EVENT_PROGRAM]);

/* Whether an event exists: 0, or -errno with the reason in why. It may be that nothing here can
 * record it. */
int perf_event_check(const struct sampler_config *config, const char *name, struct error *why);

/* Calls perf_event_open: returns a descriptor, or -1 and errno. */
int perf_event_create(const struct perf_event_attr *attr, pid_t tid, int cpu);

/* Writes to why what the -errno of perf_event_open means. Returns err. */
int perf_event_explain(const struct sampler_event *event, int err, struct error *why);

/* Returns the most samples per second and CPU that the kernel allows; 0: unknown. */
unsigned int perf_event_rate_limit(void);

#endif
