/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What `-e EVENT` names, as perf_event_open wants it. */
#ifndef PCCE_EVENTS_H
#define PCCE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/perf_event.h>

enum event_kind {
	EVENT_CLOCK,	  /* time passes: each sample stands for the same share of it */
	EVENT_COUNT,	  /* a sample stands for a number of events */
	EVENT_TRACEPOINT, /* each event is a sample */
};

/* Sets type and config of attr. 0, or -errno with one sentence in why. */
int event_parse(const char *name, struct perf_event_attr *attr, enum event_kind *kind, char *why, size_t why_size);

#endif
