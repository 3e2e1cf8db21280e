/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Turns what the rings say of allocations into events (include/pcce/selfring.h). A sample that says
 * what a counter means waits for the sums of the counter.
 */
#ifndef PCCE_SAMPLER_SELF_ALLOCATIONS_H
#define PCCE_SAMPLER_SELF_ALLOCATIONS_H

#include <pcce/selfring.h>
#include "sampler/sampler.h"
#include "stream/stream.h"

/* The events of a recording of allocations, by their numbers. */
enum self_allocation_event {
	ALLOCATED,
	ALLOCATED_LIVE,
	ALLOCATED_PEAK,
	ALLOCATED_TEMPORARY,
	ALLOCATION_EVENTS
};

/* The samples of a ring's counters. */
struct self_allocations {
	struct pcce_sample **of; /* n_counters; NULL: the counter has no sample */
	uint64_t n_counters;
	size_t bytes; /* of the samples */
	int n_events; /* of the recording: 1 or ALLOCATION_EVENTS */
	bool sampled; /* by bytes: samples of allocations do not come from counters */
};

/* Checks whether allocations can be recorded, if the configuration asks for that. 0, or -errno with
 * the reason in why. */
int self_allocations_probe(const struct sampler_config *config, struct error *why);

/* Takes the sample of a record PCCE_SELF_ALLOCATION: passes it on, or keeps a copy for its counter.
 * 0, or -errno; -EBADMSG: it is malformed. */
int self_allocations_take(struct self_allocations *a, struct pcce_sample *s,
			  const struct label_set *labels, struct stream *to);

/* Passes on the sums of all counters, which follow the head's ring. No process may add to them. 0
 * or -errno. */
int self_allocations_sum(struct self_allocations *a, const struct pcce_self_ring *head,
			 const struct pcce_self_counter *counters, struct stream *to);

void self_allocations_free(struct self_allocations *a);

#endif
