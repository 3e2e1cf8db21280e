/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See event_list.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "probe/event.h"
#include "probe/memory.h"
#include "sampler/event_list.h"
#include "sampler/perf_event.h"
#include "sampler/self_allocations.h"
#include "stream/reader.h"

#define DEFAULT_FREQUENCY 999

/* Reads "freq=N" or "period=N". */
static int read_rate(struct sampler_event *e, const char *text)
{
	bool frequency = !strncmp(text, "freq=", 5);
	const char *digits = frequency ? text + 5 : text + 7;
	uint64_t n;
	char *end;

	if (!frequency && strncmp(text, "period=", 7))
		return -EINVAL;
	errno = 0;
	n = strtoull(digits, &end, 10);
	if (*digits < '0' || *digits > '9' || *end || errno || !n ||
	    n > (frequency ? EVENT_FREQUENCY_MAX : EVENT_PERIOD_MAX))
		return -EINVAL;
	*(frequency ? &e->frequency : &e->period) = n;
	return 0;
}

/* Reads a number of bytes, such as 512k. Returns 0 if it is none. */
static uint64_t read_bytes(const char *text)
{
	static const char units[] = "kmg";
	const char *unit;
	uint64_t n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end | ' ') : NULL;
	if (*text < '0' || *text > '9' || errno || (*end && (!unit || end[1])))
		return 0;
	for (const char *u = units; unit && u <= unit; u++)
		if (__builtin_mul_overflow(n, 1024, &n))
			return 0;
	return n <= EVENT_BYTES_MAX ? n : 0;
}

/* Reads NAME/RATE/ or DEVICE/TERM,TERM,RATE/MODIFIERS, whose name is what remains without RATE. */
static int read_slashes(struct sampler_event *e, const char *text)
{
	size_t device = strcspn(text, "/"), at;
	char *copy = strdup(text + device + 1), *end = copy ? strchr(copy, '/') : NULL;
	char *rest = copy, *term;
	bool terms = false;
	int err = end && device < sizeof(e->name) ? 0 : -EINVAL;

	snprintf(e->name, sizeof(e->name), "%.*s", (int)device, text);
	if (end)
		*end = 0;
	while (!err && (term = strsep(&rest, ","))) {
		bool rate = !strncmp(term, "freq=", 5) || !strncmp(term, "period=", 7);

		at = strlen(e->name);
		if (rate)
			err = e->frequency || e->period ? -EINVAL : read_rate(e, term);
		else if (at + strlen(term) + 3 >= sizeof(e->name))
			err = -EINVAL;
		else
			snprintf(e->name + at, sizeof(e->name) - at, "%s%s", terms ? "," : "/",
				 term);
		terms |= !rate;
	}
	at = strlen(e->name);
	if (!err && terms)
		snprintf(e->name + at, sizeof(e->name) - at, "/%s", end + 1);
	else if (!err && end[1])
		err = -EINVAL;
	free(copy);
	return err;
}

/* Reads NAME, NAME/RATE/ or, for allocations, NAME=BYTES. */
static int read_event(struct sampler_event *e, const char *text)
{
	/* Names of probes and breakpoints can contain slashes, and each hit is a sample. */
	const char *rate =
		text + (probe_event_is(text) || memory_event_is(text) ? strlen(text)
								      : strcspn(text, "/="));
	size_t name = (size_t)(rate - text), length = strlen(rate);

	if (!name || name >= sizeof(e->name))
		return -EINVAL;
	memcpy(e->name, text, name);
	if (!length)
		return 0;
	if (*rate == '=') {
		e->period = perf_event_is_allocations(e->name) ? read_bytes(rate + 1) : 0;
		return e->period ? 0 : -EINVAL;
	}
	return read_slashes(e, text);
}

static int add_event(struct event_list *l, const char *text, struct error *why)
{
	struct sampler_event e = {0};

	if (read_event(&e, text))
		return error_set(why, -EINVAL, "cannot use -e %s: it must be %s", text,
				 text[strcspn(text, "/=")] == '='
					 ? "malloc=BYTES, such as malloc=512k"
					 : "NAME, NAME/freq=HZ/ or NAME/period=N/");
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp(l->of[i].name, e.name))
			return error_set(why, -EEXIST,
					 "cannot record the event %s twice: leave out one of them",
					 e.name);
	if (l->n == SAMPLER_EVENTS)
		return error_set(why, -E2BIG,
				 "cannot record more than %d events: leave out some of them",
				 SAMPLER_EVENTS);
	l->of[l->n++] = e;
	return 0;
}

int event_list_add(struct event_list *l, const char *arg, struct error *why)
{
	for (uint32_t i = 0;; i++) {
		size_t length;
		const char *at = datafile_event(arg, i, &length);
		char *text = strndup(at, length);
		int err = text ? add_event(l, text, why) : error_set(why, -ENOMEM, "out of memory");

		free(text);
		if (err || !at[length])
			return err;
	}
}

void event_list_set_rates(struct event_list *l, uint64_t frequency, uint64_t period)
{
	for (uint32_t i = 0; i < l->n; i++) {
		struct sampler_event *e = &l->of[i];

		if (e->frequency || e->period)
			continue;
		e->period = frequency ? 0 : period;
		e->frequency = frequency;
		if (frequency || period)
			continue;
		if (perf_event_is_rare(e->name))
			e->period = 1;
		else
			e->frequency = DEFAULT_FREQUENCY;
	}
}

/* Adds the event of those who end waits for futexes behind that of those who wait. */
static void add_holders(struct event_list *l)
{
	uint32_t i = 0;

	while (i < l->n && !perf_event_is_locks(l->of[i].name))
		i++;
	if (i == l->n || l->n == SAMPLER_EVENTS)
		return;
	memmove(&l->of[i + 1], &l->of[i], (l->n++ - i) * sizeof(*l->of));
	snprintf(l->of[i + 1].name, sizeof(l->of[i + 1].name), "%s", PERF_EVENT_HOLDER);
}

void event_list_complete(struct event_list *l)
{
	static const char *const kinds[] = {
		[ALLOCATED] = "",
		[ALLOCATED_LIVE] = ":live",
		[ALLOCATED_PEAK] = ":peak",
		[ALLOCATED_TEMPORARY] = ":temporary",
	};

	add_holders(l);
	if (l->n != 1 || !perf_event_is_allocations(l->of->name) || strchr(l->of->name, ':'))
		return;
	for (; l->n < ALLOCATION_EVENTS; l->n++) {
		struct sampler_event *e = &l->of[l->n];

		*e = *l->of;
		snprintf(e->name, sizeof(e->name), "malloc%s", kinds[l->n]);
	}
}
