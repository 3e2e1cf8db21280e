/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements what several output formats share: units, creation contexts and remarks. */
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include "base/message.h"
#include "format/format.h"

char *format_origin(const struct profile *p, const struct thread *t)
{
	if (!t->origin)
		return strdup("");
	return t->origin == THREAD_ORIGIN_SEVERAL ? strdup("[several]")
						  : thread_origins_text(p->origins, t->origin);
}

struct format_unit format_unit(const struct profile *p)
{
	struct format_unit u = {
		.type = *p->event ? p->event : "events", .unit = "count", .scale = 1};

	/* A sample of a clock event is worth one period in nanoseconds, given directly or by the
	 * frequency. */
	if (strcmp(p->event, "cpu-clock") && strcmp(p->event, "task-clock"))
		return u;
	if (!p->frequency && !p->period)
		return u;
	u.clock = true;
	u.type = "cpu";
	u.unit = "nanoseconds";
	u.scale = p->frequency ? 1000000000 / p->frequency : p->period;
	return u;
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
