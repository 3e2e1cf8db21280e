/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Holds what decides which calling contexts are hot. A context is hot if its count is at least
 * phi N, where N is the sum of all counts. Summaries in small space may err by epsilon N.
 */
#ifndef PCCE_HOT_PARAMETERS_H
#define PCCE_HOT_PARAMETERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define HOT_PHI 1e-4	      /* the default */
#define HOT_PHI_PER_EPSILON 5 /* so epsilon is phi / 5 by default */

struct hot_parameters {
	double phi, epsilon; /* 0 < epsilon < phi <= 1 */
	bool per_thread;     /* a context counts in each thread for itself */
};

/* Parses "PHI" or "PHI,EPSILON". 0, or -EINVAL with a fragment that begins with the text. */
int hot_parameters_parse(const char *text, struct hot_parameters *p, struct error *why);

/* Returns the least count that is hot: phi N, rounded down, but not 0. */
uint64_t hot_threshold(double phi, uint64_t n);

/* Returns 1 / epsilon, rounded up: the number of counters that keep errors within epsilon N.
 * 0: there cannot be that many. */
size_t hot_counters(double epsilon);

#endif
