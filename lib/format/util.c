/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include "format/format.h"

uint32_t format_next(const struct cct *t, uint32_t node, bool skip, unsigned int *depth)
{
	if (!skip && t->nodes[node].child) {
		++*depth;
		return t->nodes[node].child;
	}
	while (node && !t->nodes[node].next) {
		node = t->nodes[node].parent;
		--*depth;
	}
	return node ? t->nodes[node].next : 0;
}

char *format_origin(const struct profile *p, const struct thread *t)
{
	if (!t->origin)
		return strdup("");
	return t->origin == THREAD_ORIGIN_SEVERAL ? strdup("[several]")
						  : thread_origins_text(p->origins, t->origin);
}

double format_percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * part / all : 0.0;
}

const char *format_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* Length of the UTF-8 sequence at s, 0 if it is none. */
static size_t sequence(const unsigned char *s)
{
	size_t n = s[0] < 0x80	 ? 1
		   : s[0] < 0xc2 ? 0
		   : s[0] < 0xe0 ? 2
		   : s[0] < 0xf0 ? 3
		   : s[0] < 0xf5 ? 4
				 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)))
		return 0;
	if (n == 4 && ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
		return 0;
	return n;
}

const char *format_clean(const char *text, char *buffer, size_t size)
{
	const unsigned char *s = (const unsigned char *)text;
	bool clean = true;
	size_t out = 0, n;

	for (const unsigned char *c = s; *c && clean; c += n) {
		n = sequence(c);
		clean = n && *c >= 0x20 && *c != 0x7f;
	}
	if (clean)
		return text;
	while (*s && out + 4 < size) {
		n = sequence(s);
		if (!n || *s < 0x20 || *s == 0x7f) {
			buffer[out++] = '?';
			s++;
			continue;
		}
		memcpy(buffer + out, s, n);
		out += n;
		s += n;
	}
	buffer[out] = 0;
	return buffer;
}

struct format_unit format_unit(const struct profile *p)
{
	struct format_unit u = {
		.type = *p->event ? p->event : "events", .unit = "count", .scale = 1};

	/* One period of a clock is so many nanoseconds, whether it was given or follows from the
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
	va_list args;

	if (o->quiet)
		return;
	va_start(args, format);
	fputs("pcce-report: ", stderr);
	vfprintf(stderr, format, args);
	fputs("\n", stderr);
	va_end(args);
}
