/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What `-e EVENT` names: how perf_event_open wants it, and what to say if it does not. */
#ifndef PCCE_SAMPLER_PERF_EVENT_H
#define PCCE_SAMPLER_PERF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>
#include "sampler/sampler.h"
#include "base/error.h"

enum perf_event_kind {
	PERF_EVENT_CLOCK,      /* time passes: each sample stands for the same share of it */
	PERF_EVENT_COUNT,      /* a sample stands for a number of events */
	PERF_EVENT_TRACEPOINT, /* each event is a sample */
};

/* Sets type and config of attr. 0, or -errno with one sentence in why. */
int perf_event_parse(const char *name, struct perf_event_attr *attr, enum perf_event_kind *kind,
		     struct error *why);

/* The same with all that the sampling of a command or process needs. */
int perf_event_make_attr(const struct sampler_config *config, struct perf_event_attr *attr,
			 enum perf_event_kind *kind, struct error *why);

/* perf_event_open: a descriptor, or -1 and errno. */
int perf_event_create(const struct perf_event_attr *attr, pid_t tid, int cpu);

/* Writes to why what -errno of perf_event_open means. Returns err. */
int perf_event_explain(const struct sampler_config *config, int err, struct error *why);

/* Samples a second and CPU that the kernel allows; 0: not known. */
unsigned int perf_event_rate_limit(void);

#endif
