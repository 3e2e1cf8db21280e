/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See self_allocations.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/clock.h"
#include "sampler/self_allocations.h"

/* A program, or what has written to its ring, cannot make the recorder take all memory: further
 * counters have no context, and what they count is lost. */
#define BYTES_MAX ((size_t)1 << 30)

static int put_allocations(const struct pcce_sample *s, uint64_t samples, uint64_t bytes,
			   struct stream *to)
{
	struct stream_event e = {
		.sample = s,
		.samples = samples,
		.weight = bytes,
		.aggregated = samples != 1 || bytes == 0 || bytes > UINT32_MAX,
	};

	return stream_pass(to, event, &e);
}

int self_allocations_take(struct self_allocations *a, struct pcce_sample *s, struct stream *to)
{
	uint64_t bytes = s->sp, counter = s->kip;
	struct pcce_sample *copy;

	/* The program may have written anything. */
	s->flags &= ~(PCCE_SAMPLE_COUNTED | PCCE_SAMPLE_KERNEL | PCCE_SAMPLE_KERNEL_STACK |
		      PCCE_SAMPLE_CARRIER | PCCE_SAMPLE_BY_CONTENT);
	s->sp = s->kip = 0;
	if (!counter) {
		s->weight = bytes <= UINT32_MAX ? (uint32_t)bytes : 1;
		/* An aggregated sample has no real stack. */
		if (bytes == 0 || bytes > UINT32_MAX) {
			s->flags &= ~PCCE_SAMPLE_STACK;
			s->n_stack = 0;
		}
		return put_allocations(s, 1, bytes, to);
	}
	if (counter > a->n_counters)
		return -EBADMSG;
	s->n_stack = 0;
	s->flags &= ~(PCCE_SAMPLE_STACK | PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_COPY);
	if (a->bytes > BYTES_MAX)
		return 0;
	if (!a->of)
		a->of = calloc(a->n_counters, sizeof(struct pcce_sample *));
	copy = a->of ? malloc(pcce_sample_size(s)) : NULL;
	if (!copy)
		return -ENOMEM;
	memcpy(copy, s, pcce_sample_size(s));
	a->bytes += pcce_sample_size(s);
	free(a->of[counter - 1]);
	a->of[counter - 1] = copy;
	return 0;
}

int self_allocations_sum(struct self_allocations *a, const struct pcce_self_counter *counters,
			 struct stream *to)
{
	uint64_t lost = 0;
	int ret = 0;

	for (uint64_t i = 0; i < a->n_counters && !ret; i++) {
		uint64_t samples = __atomic_load_n(&counters[i].samples, __ATOMIC_RELAXED),
			 bytes = __atomic_load_n(&counters[i].bytes, __ATOMIC_RELAXED);
		struct pcce_sample *s = a->of ? a->of[i] : NULL;

		if (samples && s) {
			s->weight = bytes <= UINT32_MAX ? (uint32_t)bytes : 1;
			ret = put_allocations(s, samples, bytes, to);
		} else {
			lost += samples;
		}
	}
	if (lost && !ret)
		ret = stream_lost(to, clock_ns(CLOCK_MONOTONIC), PCCE_LOSS_RING, lost);
	self_allocations_free(a);
	return ret;
}

void self_allocations_free(struct self_allocations *a)
{
	for (uint64_t i = 0; a->of && i < a->n_counters; i++)
		free(a->of[i]);
	free(a->of);
	*a = (struct self_allocations){0};
}
