/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See counting.h. */
#include <errno.h>

#include "sampler/counting.h"

#define LOOK_NS 100000000 /* between two looks at the counters */

int counting_begin(struct counting *c, const struct places_memory *memory, int cpus,
		   uint32_t number, struct event_queue *queue)
{
	c->places = places_new(memory, cpus, number);
	c->queue = queue;
	return c->places ? 0 : -ENOMEM;
}

void counting_end(struct counting *c)
{
	places_free(c->places);
	c->places = NULL;
}

uint64_t counting_look(struct counting *c, bool last)
{
	uint64_t now = event_queue_now();

	if (!c->places)
		return now;
	c->looks = last || now - c->looked >= LOOK_NS;
	if (c->looks) {
		c->looked = now;
		places_look(c->places);
	}
	/* Counts that are found later can be as old as the last look. */
	return c->looked;
}

static int add_counts(void *ctx, uint64_t time, uint32_t place, uint64_t samples, uint64_t weight)
{
	struct event_queue *queue = ctx;

	return event_queue_add_counts(queue, time, place, samples, weight);
}

int counting_add(struct counting *c, const struct pcce_sample *sample, size_t size,
		 const struct pcce_claim *claim)
{
	struct sampler_counting counting;
	struct pcce_sample *copy;
	int err = places_claim(c->places, sample, claim, add_counts, c->queue, &counting);

	if (err)
		return err;
	copy = event_queue_add_claim(c->queue, sample, size, &counting);
	if (!copy)
		return -ENOMEM;
	copy->event = 0; /* was the epoch */
	return 0;
}

int counting_take(struct counting *c)
{
	return c->places && c->looks ? places_take(c->places, add_counts, c->queue) : 0;
}
