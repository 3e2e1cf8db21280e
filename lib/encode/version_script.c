/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds names to a linker's version script.
 *
 * A script is either one node without a name or a list of named nodes:
 *
 *   { global: main; local: *; };          V1 { global: main; local: *; }; V2 { ... } V1;
 *
 * A node has at most one list "global:", then at most one list "local:". The names go into the node
 * without a name, or into a named node in front of the others. A name there comes before a pattern
 * such as * elsewhere. No line is added, so the line numbers in the linker's messages stay right.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/table.h>
#include "encode/version_script.h"

/* Returns the first character that is neither white space nor part of a comment. */
static const char *skip_comments(const char *at)
{
	for (;;) {
		at += strspn(at, " \t\r\n\f\v");
		if (*at == '#') {
			at += strcspn(at, "\n");
		} else if (at[0] == '/' && at[1] == '*') {
			const char *end = strstr(at + 2, "*/");

			at = end ? end + 2 : at + strlen(at);
		} else {
			return at;
		}
	}
}

/* Returns the end of the label "WORD:" at `at`, or NULL if there is another token. */
static const char *skip_label(const char *at, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(at, word, length) != 0)
		return NULL;
	at = skip_comments(at + length);
	return *at == ':' ? at + 1 : NULL;
}

/* Is there a '{' outside of comments and strings? */
static bool has_node(const char *at)
{
	while (*(at = skip_comments(at))) {
		if (*at == '{')
			return true;
		if (*at == '"')
			at += 1 + strcspn(at + 1, "\"");
		at += *at != 0;
	}
	return false;
}

/* Puts text together: what is before `at`, the names between two strings, and the rest. */
static int insert_names(const char *text, const char *at, const char *before, char *const *names,
			size_t n, const char *behind, char **out)
{
	size_t size = 0;
	FILE *f = open_memstream(out, &size);

	if (!f)
		return -ENOMEM;
	fwrite(text, 1, (size_t)(at - text), f);
	fputs(before, f);
	for (size_t i = 0; i < n; i++)
		fprintf(f, " %s;", names[i]);
	fprintf(f, "%s%s", behind, at);
	if (!fclose(f))
		return 0;
	free(*out);
	*out = NULL;
	return -ENOMEM;
}

int version_script_export(const char *text, char *const *names, size_t n, char **out)
{
	const char *at = skip_comments(text), *label;

	*out = NULL;
	if (*at != '{')
		return has_node(at)
			       ? insert_names(text, text, PCCE_EXPORT_VERSION " { global:", names,
					      n, " }; ", out)
			       : -EINVAL;
	at = skip_comments(at + 1);
	label = skip_label(at, "global");
	if (label)
		return insert_names(text, label, "", names, n, "", out);
	return insert_names(text, at, *at == '}' || skip_label(at, "local") ? "global:" : "", names,
			    n, " ", out);
}
