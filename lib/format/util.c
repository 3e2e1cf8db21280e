/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements what several output formats share: units, creation contexts and remarks. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/message.h"
#include "base/text.h"
#include "format/format.h"

#define SHORT_ORIGIN 80 /* characters */

char *format_origin(const struct profile *p, const struct thread *t)
{
	if (!t->origin)
		return strdup("");
	return t->origin == THREAD_ORIGIN_SEVERAL ? strdup("[several]")
						  : thread_origins_text(p->origins, t->origin);
}

char *format_short_origin(const struct profile *p, const struct thread *t)
{
	char *text = format_origin(p, t), *shorter;

	if (!text)
		return NULL;
	shorter = text_shorten_calls(text, SHORT_ORIGIN);
	free(text);
	return shorter;
}

/* Modifiers may follow the name. */
static bool is_event(const char *event, const char *name)
{
	size_t length = strcspn(event, ":");

	return length == strlen(name) && !strncmp(event, name, length);
}

/* Fills in the unit of an event of allocations. Samples by bytes are not the allocations. */
static void name_bytes(struct format_unit *u, const char *event, bool sampled)
{
	/* The first two are known to pprof. */
	static const struct {
		const char *event, *space, *objects;
	} kinds[] = {
		{"malloc", "alloc_space", "alloc_objects"},
		{"malloc:live", "inuse_space", "inuse_objects"},
		{"malloc:peak", "peak_space", "peak_objects"},
		{"malloc:temporary", "temporary_space", "temporary_objects"},
	};

	u->bytes = true;
	u->unit = "bytes";
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!i || !strcmp(event, kinds[i].event)) {
			u->type = kinds[i].space;
			if (!sampled)
				u->samples = kinds[i].objects;
		}
}

static struct format_unit unit_of(const char *event, uint64_t frequency, uint64_t period)
{
	struct format_unit u = {.type = *event ? event : "events",
				.unit = "count",
				.scale = 1,
				.samples = "samples"};

	if (is_event(event, "malloc")) {
		name_bytes(&u, event, period > 1);
		return u;
	}
	/* A sample of a clock event is worth one period in nanoseconds, given directly or by the
	 * frequency. */
	if (!is_event(event, "cpu-clock") && !is_event(event, "task-clock") &&
	    !is_event(event, "off-cpu") && !is_event(event, "lock"))
		return u;
	if (!frequency && !period)
		return u;
	u.clock = true;
	u.type = "cpu";
	u.unit = "nanoseconds";
	u.scale = frequency ? 1000000000 / frequency : period;
	return u;
}

struct format_unit format_unit(const struct profile *p)
{
	return unit_of(p->event, p->frequency, p->period);
}

struct format_unit format_event_unit(const struct profile *p, uint32_t event, const char *name)
{
	const struct recording_rate rate = profile_event_facts(p, event).rate;
	struct format_unit u = unit_of(name, rate.frequency, rate.period);

	if (!u.bytes)
		u.type = name;
	return u;
}

struct format_unit format_cost_unit(const struct profile *p)
{
	struct format_unit u = unit_of(p->cost.event, p->cost.frequency, p->cost.period);

	if (!u.clock && p->cost.period)
		u.scale = p->cost.period;
	return u;
}

const char *format_only(const struct profile *p, char *buffer, size_t size)
{
	char expression[512], perhaps[64] = "";

	*buffer = 0;
	if (!p->only.expression)
		return buffer;
	if (p->only.unknown)
		snprintf(perhaps, sizeof(perhaps), ", %llu of these perhaps",
			 (unsigned long long)p->only.unknown);
	snprintf(buffer, size, "recorded with --only='%s': %llu of %llu samples match%s",
		 text_clean(p->only.expression, expression, sizeof(expression)),
		 (unsigned long long)p->all_samples,
		 (unsigned long long)(p->all_samples + p->only.left_out), perhaps);
	return buffer;
}

void format_remark(const struct format_options *o, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (o->quiet)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	message("pcce-report", "%s", text);
}
