/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts in bursts (static bursting of "Mining hot calling contexts in small space"): the recorder
 * turns the counting on for a while, and then off, all the time. The program's state is always
 * right, so a burst can begin at any call. Adaptive bursts are left out by the engine
 * (userlib/count/adaptive.c).
 */
#ifndef PCCE_COUNT_BURSTS_H
#define PCCE_COUNT_BURSTS_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/counting.h>
#include "base/error.h"

struct count_bursts {
	uint64_t length, interval; /* ns; 0 < length < interval */
	uint64_t every; /* adaptive: one of this number is counted in a context; else 0 */
};

#define COUNT_BURSTS_EVERY 10	/* 1 / RATIO, the default */
#define COUNT_BURSTS "2ms/20ms" /* the default */

/* Parses "LENGTH/INTERVAL[,adaptive[=RATIO]]", times with a unit: us, ms or s. 0, or -EINVAL with a
 * fragment that begins with the text. */
int count_bursts_parse(const char *text, struct count_bursts *out, struct error *why);

/* What turns the counting on and off: a thread, so that nothing else delays it. */
struct burst_driver;

/* Turns pcce_count_area.burst on and off. The area must outlive the driver. The first burst begins.
 * NULL: no memory, thread or descriptor. */
struct burst_driver *burst_driver_start(const struct count_bursts *bursts,
					struct pcce_count_area *area);

/*
 * Was the counting on at this time (CLOCK_MONOTONIC)? Only the last bursts are known, those of some
 * seconds: before, it was off. Another thread may call it.
 */
bool burst_driver_was_on(struct burst_driver *driver, uint64_t time);

struct burst_times {
	uint64_t n;	  /* bursts that have begun */
	uint64_t counted; /* ns, of all bursts */
	uint64_t all;	  /* ns */
};

/* Ends it, and frees it. driver may be NULL. */
void burst_driver_stop(struct burst_driver *driver, struct burst_times *out);

#endif
