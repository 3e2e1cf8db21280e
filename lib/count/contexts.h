/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the area of a counting engine (include/pcce/counting.h), and makes an aggregated sample of
 * each counter: the state of a thread at the instruction that follows the entry.
 *
 * The program could have written anything to the area, so all numbers in it are checked.
 */
#ifndef PCCE_COUNT_CONTEXTS_H
#define PCCE_COUNT_CONTEXTS_H

#include <sys/types.h>
#include <pcce/abi.h>
#include <pcce/counting.h>
#include <pcce/datafile.h>
#include "count/libraries.h"

struct count_source {
	const struct pcce_count_area *area;
	uint64_t size; /* readable bytes */
	struct count_places *places;
	const struct count_libraries *libraries; /* NULL: none */
	pid_t pid;				 /* of the command */
	uint64_t time;
	const struct pcce_count_config *config;
};

struct count_totals {
	uint64_t counters, calls, processes;
	uint64_t damaged; /* calls in counters that make no sense, and were not sent */
	uint64_t unknown; /* calls that were sent without the context, which made no sense */
};

/*
 * Calls process() once for each process, and then sample() for each counter.
 * loads: the libraries of the process, for count_libraries_each(). If several processes had the
 * same number and other libraries, loads is 0, and their contexts are marked.
 * PCCE_SAMPLE_COUNTED is set, sp is the count, and weight is 0. A sample brings all segments that
 * none before has brought, however many. If its stack makes no sense, its id is lost. Returns 0,
 * -ENOMEM, or what a call has returned, which ends it.
 *
 * If counters are used again, it calls begin() for each thread first. missing: the most that any
 * context has which has no counter; nameless: calls that were counted with no context. The true
 * count of a sample is at least sp and at most sp + error. calls: all that are in its counter, of
 * other contexts, too. All these and nameless add up to the number of calls.
 *
 * durations: NULL, or those of the calls, if these were timed.
 */
struct count_sink {
	void *ctx;
	int (*process)(void *ctx, pid_t pid, uint32_t loads);
	int (*begin)(void *ctx, uint64_t missing, uint64_t nameless);
	int (*sample)(void *ctx, const struct pcce_sample *s, uint64_t calls, uint64_t error,
		      const struct pcce_durations *durations);
};
int count_read(const struct count_source *s, const struct count_sink *sink,
	       struct count_totals *totals);

#endif
