/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Defines the list of output formats, and searches it by name. */
#include <stdio.h>
#include <string.h>
#include "format/format_list.h"

/* The function is the first of the variable arguments. */
#define ROW(name_, what_, ...) {.name = name_, .what = what_, .print = __VA_ARGS__},
const struct format formats[] = {FORMATS(ROW){0}};

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
