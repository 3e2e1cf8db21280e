/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See self_allocations.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/clock.h"
#include "sampler/perf_event.h"
#include "sampler/self_allocations.h"

/* A program, or what has written to its ring, cannot make the recorder take all memory: further
 * counters have no context, and what they count is lost. */
#define BYTES_MAX ((size_t)1 << 30)

static int allocations_alone(const struct sampler_config *config, struct error *why)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < config->n_events; i++)
		n += perf_event_is_allocations(config->events[i].name);
	/* event_list_complete() adds events that are no other ones. */
	if (n && n != config->n_events)
		return error_set(why, -EOPNOTSUPP,
				 "it records allocations alone; leave out the other events, or "
				 "record them one after the other");
	return 0;
}

static int probe_allocations(const struct sampler_config *config, struct error *why)
{
	if (strchr(config->events->name, ':') ||
	    (config->n_events > 1 && config->n_events != ALLOCATION_EVENTS))
		return error_set(
			why, -EINVAL,
			"a recording of malloc has malloc:live and so on, too; use -e malloc, "
			"and pcce-report --event=malloc:live");
	if (config->events->frequency)
		return error_set(why, -EINVAL,
				 "allocations are sampled by bytes, not by time; use -e malloc, or "
				 "for example -e malloc=512k");
	if (config->copy & SAMPLER_COPY_PAGE)
		return error_set(why, -EOPNOTSUPP,
				 "it restores no frames of allocations; leave out --frames");
	return 0;
}

int self_allocations_probe(const struct sampler_config *config, struct error *why)
{
	int err = allocations_alone(config, why);

	return !err && perf_event_is_allocations(config->events->name)
		       ? probe_allocations(config, why)
		       : err;
}

static int put_allocations(struct pcce_sample *s, enum self_allocation_event event,
			   uint64_t samples, uint64_t bytes, const struct label_set *labels,
			   struct stream *to)
{
	struct stream_event e = {
		.sample = s,
		.labels = labels,
		.samples = samples,
		.weight = bytes,
		.number = event,
		.aggregated = samples != 1 || bytes == 0 || bytes > UINT32_MAX,
	};

	s->event = event;
	s->weight = bytes <= UINT32_MAX ? (uint32_t)bytes : 1;
	return stream_pass(to, event, &e);
}

int self_allocations_take(struct self_allocations *a, struct pcce_sample *s,
			  const struct label_set *labels, struct stream *to)
{
	uint64_t bytes = s->sp, counter = s->kip;
	struct pcce_sample *copy;

	/* The program may have written anything. */
	s->flags &= ~(PCCE_SAMPLE_COUNTED | PCCE_SAMPLE_KERNEL | PCCE_SAMPLE_KERNEL_STACK |
		      PCCE_SAMPLE_CARRIER | PCCE_SAMPLE_BY_CONTENT);
	s->sp = s->kip = 0;
	if (!counter) {
		/* An aggregated sample has no real stack. */
		if (bytes == 0 || bytes > UINT32_MAX) {
			s->flags &= ~PCCE_SAMPLE_STACK;
			s->n_stack = 0;
		}
		return put_allocations(s, ALLOCATED, 1, bytes, labels, to);
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

struct sums {
	uint64_t samples[ALLOCATION_EVENTS], bytes[ALLOCATION_EVENTS];
};

#define READ(x) __atomic_load_n(&(x), __ATOMIC_RELAXED)

/* What is live is a part of what was allocated, and so on. The program may have written anything.
 * Reads that last, since the program may still add. */
static bool read_sums(const struct pcce_self_counter *c, uint64_t generation, struct sums *s)
{
	bool kept = READ(c->generation) == generation;

	s->samples[ALLOCATED_LIVE] = READ(c->live_samples);
	s->bytes[ALLOCATED_LIVE] = READ(c->live_bytes);
	s->samples[ALLOCATED_PEAK] = kept ? READ(c->peak_samples) : s->samples[ALLOCATED_LIVE];
	s->bytes[ALLOCATED_PEAK] = kept ? READ(c->peak_bytes) : s->bytes[ALLOCATED_LIVE];
	s->samples[ALLOCATED_TEMPORARY] = READ(c->temporary_samples);
	s->bytes[ALLOCATED_TEMPORARY] = READ(c->temporary_bytes);
	s->samples[ALLOCATED] = READ(c->samples);
	s->bytes[ALLOCATED] = READ(c->bytes);
	for (int i = 0; i < ALLOCATION_EVENTS; i++)
		if (s->samples[i] > s->samples[ALLOCATED] || s->bytes[i] > s->bytes[ALLOCATED] ||
		    (!s->samples[i] && s->bytes[i]))
			return false;
	return true;
}

/* What of the sums is lost. */
struct lost_sums {
	uint64_t samples[ALLOCATION_EVENTS], unfollowed, malformed;
};

/* Passes on what a counter counts, except what the ring has already. sample: NULL: it is lost. */
static int put_sums(const struct self_allocations *a, struct pcce_sample *sample,
		    const struct sums *s, struct lost_sums *lost, struct stream *to)
{
	int ret = 0;

	for (int i = a->sampled ? ALLOCATED_LIVE : ALLOCATED; i < a->n_events && !ret; i++)
		if (!sample)
			lost->samples[i] += s->samples[i];
		else if (s->samples[i])
			ret = put_allocations(sample, i, s->samples[i], s->bytes[i], NULL, to);
	return ret;
}

static int put_loss(enum pcce_loss reason, uint64_t n, int event, struct stream *to)
{
	return n ? stream_lost_of(to, clock_ns(CLOCK_MONOTONIC), reason, n, (uint32_t)event) : 0;
}

static int put_losses(const struct lost_sums *lost, struct stream *to)
{
	int ret = put_loss(PCCE_LOSS_SHAPE, lost->malformed, ALLOCATED, to);

	for (int i = 0; i < ALLOCATION_EVENTS && !ret; i++)
		ret = put_loss(PCCE_LOSS_RING, lost->samples[i], i, to);
	return ret ? ret : put_loss(PCCE_LOSS_UNFOLLOWED, lost->unfollowed, ALLOCATED_LIVE, to);
}

int self_allocations_sum(struct self_allocations *a, const struct pcce_self_ring *head,
			 const struct pcce_self_counter *counters, struct stream *to)
{
	uint64_t generation = READ(head->ledger.generation);
	struct lost_sums lost = {0};
	struct sums sums;
	int ret = 0;

	for (uint64_t i = 0; i < a->n_counters && !ret; i++)
		if (read_sums(&counters[i], generation, &sums))
			ret = put_sums(a, a->of ? a->of[i] : NULL, &sums, &lost, to);
		else
			lost.malformed++;
	if (a->n_events > ALLOCATED_LIVE)
		lost.unfollowed = READ(head->ledger.unfollowed);
	if (!ret)
		ret = put_losses(&lost, to);
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
