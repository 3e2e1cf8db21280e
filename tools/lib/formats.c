/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See formats.h. */
#include <stdio.h>
#include <string.h>
#include "tools/lib/formats.h"

const struct format formats[] = {
	{"tree", "readable calling context tree, callers first", format_tree, 0.5, false, false},
	{"callees", "functions in which samples were taken, and who called them", format_callees, 0.5, false, false},
	{"flat", "functions by own and by total share", format_flat, 0, false, false},
	{"folded", "one line a context, for flame graph tools", format_folded, 0, false, false},
	{"json", "everything, for programs", format_json, 0, false, false},
	{"html", "one page for a browser: flame graph, tables, threads over time", format_html, 0, true, false},
	{0},
};

const struct format *format_find(const char *name)
{
	for (const struct format *f = formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const char *format_names(char *buffer, size_t size)
{
	size_t at = 0;

	*buffer = 0;
	for (const struct format *f = formats; f->name && at < size; f++) {
		const char *between = f == formats ? "" : f[1].name ? ", " : " or ";

		at += (size_t)snprintf(buffer + at, size - at, "%s%s", between, f->name);
	}
	return buffer;
}
