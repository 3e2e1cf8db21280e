/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Measures the time stamp counter, by which calls are timed. */
#ifndef PCCE_COUNT_CLOCK_H
#define PCCE_COUNT_CLOCK_H

#include <stdint.h>
#include "base/error.h"

/* The length of a cycle, in 2^-32 ns. Takes 20 ms. Returns 0, or -ENOTSUP with a sentence: the
 * counter does not run evenly on this machine. */
int count_clock_measure(uint64_t *cycle, struct error *why);

#endif
