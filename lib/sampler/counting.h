/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the samplers in the kernel have in common if they count (pcce/places.h): when counters are
 * read, and how they get into the queue of events.
 *
 * A turn: counting_look(), then all records of the rings, each through counting_add(), then
 * counting_take().
 */
#ifndef PCCE_SAMPLER_COUNTING_H
#define PCCE_SAMPLER_COUNTING_H

#include <stdbool.h>
#include "sampler/event_queue.h"
#include "sampler/places.h"

struct counting {
	struct places *places; /* NULL: the sampler does not count */
	struct event_queue *queue;
	uint64_t looked; /* time of the last look at the counters */
	bool looks;	 /* in this turn */
};

/* 0 or -ENOMEM */
int counting_begin(struct counting *c, const struct places_memory *memory, int cpus,
		   uint32_t number, struct event_queue *queue);
void counting_end(struct counting *c);

/* Looks at the counters if it is time, or if this is the last turn. Returns the time from which on
 * events can still be found later. */
uint64_t counting_look(struct counting *c, bool last);
/* Adds a sample of the ring. claim: NULL if it has none. 0 or -errno. */
int counting_add(struct counting *c, const struct pcce_sample *sample, size_t size,
		 const struct pcce_claim *claim);
/* Adds what the look has found. 0 or -errno. */
int counting_take(struct counting *c);

#endif
