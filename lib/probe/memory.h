/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Translates the names of breakpoints of the processor to attributes of perf_event_open:
 *
 *	mem:ADDRESS[/LENGTH][:ACCESS]
 *	mem:VARIABLE[/LENGTH][:ACCESS]	a global variable of the recorded program
 *
 * LENGTH is 1, 2, 4 or 8 bytes. ACCESS is of r, w and x: w, rw (the default) or x.
 */
#ifndef PCCE_PROBE_MEMORY_H
#define PCCE_PROBE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/perf_event.h>
#include "base/error.h"

/* Whether the name is that of a breakpoint, by its beginning. */
bool memory_event_is(const char *name);

/*
 * Sets the attributes. program: the file with the variable, or NULL: there is none. *moves: the
 * address is one of the file, and memory_event_bias() must be added. 0, or -errno with a sentence
 * that says why the event cannot be recorded.
 */
int memory_event_find(const char *name, const char *program, struct perf_event_attr *attr,
		      bool *moves, struct error *why);

/* Finds how far a process has moved its program. 0, or -errno. */
int memory_event_bias(pid_t pid, const char *program, uint64_t *bias);

#endif
