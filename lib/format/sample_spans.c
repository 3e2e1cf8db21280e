/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See sample_spans.h. lib/html/page/series.js does the same for the page. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "format/format.h"
#include "format/sample_spans.h"

/* If a thread got no CPU when its wait had ended, the next sample is of that, and was taken at the
 * same time. */
#define PAIRED 100000 /* ns */

static uint64_t lasts(const struct sample_spans *s, const struct profile_sample *sample)
{
	uint64_t period = s->periods[sample->event];

	if (period && sample->weight > sample->time / period)
		return sample->time;
	return sample->weight * period;
}

static void find_periods(struct sample_spans *s)
{
	for (uint32_t i = 0; i < s->p->n_events; i++) {
		char name[256];
		struct format_unit unit;

		profile_event(s->p, i, name, sizeof(name));
		unit = format_event_unit(s->p, i, name);
		if (unit.clock && (!strcmp(name, "off-cpu") || !strcmp(name, "lock")))
			s->periods[i] = unit.scale;
	}
}

int sample_spans_new(const struct profile *p, struct sample_spans *s)
{
	size_t n = profile_samples(p);

	*s = (struct sample_spans){
		.p = p,
		.periods = calloc(p->n_events + 1, sizeof(*s->periods)),
		.first = p->first,
		.list = malloc((n + 1) * sizeof(*s->list)),
	};
	if (!s->periods || !s->list)
		return -ENOMEM;
	find_periods(s);
	for (size_t i = 0; i < n; i++) {
		struct profile_sample sample = profile_sample(p, i);
		uint64_t begin = sample.time - lasts(s, &sample);

		if (begin < s->first)
			s->first = begin;
	}
	return 0;
}

void sample_spans_free(struct sample_spans *s)
{
	free(s->periods);
	free(s->list);
}

/* Whether waits overlap by more than the error of their length. */
static bool spans_overlap(const struct sample_spans *s, const uint32_t *samples, size_t n)
{
	uint64_t last = 0;

	for (size_t i = 0; i < n; i++) {
		struct profile_sample sample = profile_sample(s->p, samples[i]);
		uint64_t period = s->periods[sample.event];

		if (period && last && sample.time - last >= PAIRED &&
		    sample.time - lasts(s, &sample) + 3 * period < last)
			return true;
		last = period ? sample.time : last;
	}
	return false;
}

void sample_spans_fill(struct sample_spans *s, const uint32_t *samples, size_t n)
{
	struct sample_span *list = s->list;
	bool overlap = spans_overlap(s, samples, n);

	for (size_t i = n; i-- > 0;) {
		struct profile_sample sample = profile_sample(s->p, samples[i]);
		uint64_t length = overlap ? 0 : lasts(s, &sample);

		list[i].end = sample.time;
		if (length && i + 1 < n && list[i + 1].begin < sample.time &&
		    list[i + 1].end - sample.time < PAIRED)
			list[i].end = list[i + 1].begin;
		list[i].begin = list[i].end > s->first + length ? list[i].end - length : s->first;
		if (!length)
			list[i].begin = list[i].end;
	}
	/* No wait begins before the one before it has ended. */
	for (size_t i = 1; i < n; i++) {
		if (list[i].begin < list[i - 1].end)
			list[i].begin = list[i - 1].end;
		if (list[i].end < list[i].begin)
			list[i].end = list[i].begin;
	}
}

bool sample_spans_is_reason(const char *name)
{
	static const char *const reasons[] = {"[runnable]", "[preempted]", "[stopped]"};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++)
		if (!strcmp(name, reasons[i]))
			return true;
	return !strncmp(name, "[waiting", 8);
}
