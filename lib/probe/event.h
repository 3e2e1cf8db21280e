/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Translates the names of probes to places, and those to attributes of perf_event_open:
 *
 *	uprobe:[FILE:]FUNCTION		each call of a function
 *	uretprobe:[FILE:]FUNCTION	each return from it
 *	usdt:[FILE:]PROVIDER:NAME	a static probe
 *	kprobe:FUNCTION			each call of a function of the kernel
 *	kretprobe:FUNCTION		each return from it
 *
 * FILE contains a slash.
 */
#ifndef PCCE_PROBE_EVENT_H
#define PCCE_PROBE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/perf_event.h>
#include "base/error.h"

struct probe_event {
	char *target; /* the file, or the function of the kernel */
	uint32_t type, flags;
	struct probe_spot {
		uint64_t offset;    /* in the file */
		uint64_t semaphore; /* offset in the file; 0: none */
	} * spots;		    /* n */
	size_t n;
};

/* Whether the name is that of a probe, by its beginning. */
bool probe_event_is(const char *name);
/* Whether it is one in the kernel; whether it is one of returns. */
bool probe_event_is_kernel(const char *name);
bool probe_event_is_of_returns(const char *name);

/* Finds the places of a probe. program: the file without FILE, or NULL: there is none. 0, or -errno
 * with a sentence that says why the event cannot be recorded. Both ways, the caller frees *out. */
int probe_event_find(const char *name, const char *program, struct probe_event *out,
		     struct error *why);
void probe_event_free(struct probe_event *e);

/* Sets what the attributes need for a place. They refer to e. */
void probe_event_set(const struct probe_event *e, size_t spot, struct perf_event_attr *attr);

#endif
