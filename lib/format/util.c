/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements what several output formats share: units, contexts as text and remarks. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
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

/* Writes "name × 3" and what separates it from the next function. */
static void write_run(const struct symbol_table *names, uint32_t name, uint64_t times, bool last,
		      FILE *out)
{
	char buffer[1024];

	if (!times)
		return;
	fputs(text_clean(symbol_table_string(names, name), buffer, sizeof(buffer)), out);
	if (times > 1)
		fprintf(out, " × %llu", (unsigned long long)times);
	fputs(last ? "" : TEXT_CALLS, out);
}

/* Writes n nodes of a path, the outermost one last in the array. A function that calls itself is
 * written once, however the encoding stack has counted its calls. */
static void write_path(const struct symbol_table *names, const struct cct *t, const uint32_t *path,
		       size_t n, FILE *out)
{
	const struct cct_key *key;
	uint64_t times = 0;
	uint32_t name = 0, left = 0, repeat = 0;

	while (n-- > 0) {
		key = t->nodes[path[n]].key;
		if (times && name != key->name) {
			write_run(names, name, times, false, out);
			times = 0;
		}
		name = key->name;
		times += 1 + (key->span <= 1 ? key->repeat : 0);
		if (key->repeat && key->span > 1) {
			left = key->span;
			repeat = key->repeat;
		}
		if (!left || --left)
			continue;
		write_run(names, name, times, false, out);
		fprintf(out, "[these %u × %u more]%s", key->span, repeat, n ? TEXT_CALLS : "");
		times = 0;
	}
	write_run(names, name, times, true, out);
}

char *format_chain(const struct profile *p, const struct cct *t, uint32_t node, unsigned int most)
{
	uint32_t *path = NULL;
	size_t n = 0, size;
	char *text = NULL;
	FILE *out;
	int r = 0;

	for (; node && !r; node = t->nodes[node].parent) {
		r = array_grow(&path, n, sizeof(*path));
		if (!r)
			path[n++] = node;
	}
	out = r ? NULL : open_memstream(&text, &size);
	if (out) {
		if (most && n > most)
			fputs("…" TEXT_CALLS, out);
		write_path(p->names, t, path, most && n > most ? most : n, out);
		if (fclose(out)) {
			free(text);
			text = NULL;
		}
	}
	free(path);
	return text;
}
