/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See help_list.h. */
#include <argp.h>
#include <stdint.h>

#include "base/help_list.h"

char *help_list(int key, const char *text, void (*print)(FILE *out))
{
	char *help = NULL;
	size_t size;
	FILE *f = key == ARGP_KEY_HELP_POST_DOC ? open_memstream(&help, &size) : NULL;

	if (!f)
		return (char *)(uintptr_t)text;
	print(f);
	fprintf(f, "\n%s", text ? text : "");
	fclose(f);
	return help;
}
