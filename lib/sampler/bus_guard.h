/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Survives files that shrink while they are mapped.
 *
 * Whoever may write to a file may also truncate it. The next access to a mapping of it is then a
 * SIGBUS. A guarded mapping becomes zeros instead, and its guard says so. Not thread-safe.
 */
#ifndef PCCE_SAMPLER_BUS_GUARD_H
#define PCCE_SAMPLER_BUS_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct bus_guard {
	struct bus_guard *next;
	char *start;
	size_t size;
	volatile sig_atomic_t hit; /* the mapping is not the file's any more */
};

/* Returns NULL if memory is out. The mapping must stay until the removal. */
struct bus_guard *bus_guard_add(void *start, size_t size);
void bus_guard_remove(struct bus_guard *guard);

#endif
