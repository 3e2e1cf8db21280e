/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads clocks. */
#ifndef PCCE_BASE_CLOCK_H
#define PCCE_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Returns ns. */
static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif
