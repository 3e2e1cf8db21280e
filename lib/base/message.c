/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See message.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/progress.h"
#include "base/text.h"

/* Returns the clean text. The caller frees it. NULL: no memory. */
static char *clean_message(const char *format, va_list args)
{
	char *text, *clean;
	size_t size;

	if (vasprintf(&text, format, args) < 0)
		return NULL;
	size = strlen(text) + 8; /* cleaning makes no text longer */
	clean = malloc(size);
	if (clean && text_clean(text, clean, size) == text)
		memcpy(clean, text, strlen(text) + 1);
	free(text);
	return clean;
}

/* A user of pcce calls its commands "pcce record", as argv[0] says then. */
static const char *shown_name(const char *program)
{
	bool by_pcce = !strncmp(program_invocation_short_name, "pcce ", 5);

	return program && !by_pcce ? program : program_invocation_short_name;
}

void message(const char *program, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = clean_message(format, args);
	va_end(args);
	progress_end();
	fprintf(stderr, "%s: %s\n", shown_name(program), text ? text : "out of memory");
	free(text);
}

void message_usage(const struct argp_state *state, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = clean_message(format, args);
	va_end(args);
	argp_error(state, "%s", text ? text : "out of memory");
	free(text);
}

error_t message_option(const struct argp_state *state, const char *option, int r, const char *why)
{
	if (r == -EINVAL)
		message_usage(state, "cannot use --%s: %s", option, why);
	else if (r)
		argp_failure(state, 1, -r, "cannot use --%s", option);
	return 0;
}
