/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See formats.h. */
#include <stdio.h>
#include <string.h>
#include "tools/lib/formats.h"

const struct format formats[] = {
	{"tree", "readable calling context tree, callers first", format_tree, 0.5},
	{"callees", "functions in which samples were taken, and who called them", format_callees, 0.5},
	{"flat", "functions by own and by total share", format_flat, 0},
	{"folded", "one line a context, for flame graph tools", format_folded, 0},
	{"json", "everything, for programs", format_json, 0},
	{"html", "one page for a browser: flame graph, tables, threads over time", format_html, 0},
	{NULL, NULL, NULL, 0},
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
	for (const struct format *f = formats; f->name && at < size; f++)
		at += (size_t)snprintf(buffer + at, size - at, "%s%s",
				       f == formats ? ""
				       : f[1].name  ? ", "
						    : " or ",
				       f->name);
	return buffer;
}
