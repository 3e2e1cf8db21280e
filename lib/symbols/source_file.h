/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the text of a source file that a recording names. */
#ifndef PCCE_SYMBOLS_SOURCE_FILE_H
#define PCCE_SYMBOLS_SOURCE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

#define SOURCE_LINE_MAX 1024 /* bytes of a line that are shown, with the end of the string */

struct source_file_dirs { /* folders to search first */
	const char **list;
	size_t n;
};

struct source_file {
	char *text;
	char **lines; /* without their ends; lines[0] is line 1 */
	size_t n;
};

/*
 * Looks in each folder for the path and for its ends (a/b/c.c, b/c.c, c.c), then at the path
 * itself, then among the files that debuginfod's clients have fetched for the build. Returns 0, or
 * -errno with a sentence in why.
 */
int source_file_read(const char *path, const struct source_file_dirs *dirs, const uint8_t *build_id,
		     size_t build_id_size, struct source_file *to, struct error *why);
void source_file_free(struct source_file *f);

/* Copies line i, counted from 0, as people may see it: with spaces for tabs, and without characters
 * that text_clean() removes. Cuts it at `size`. "" if the file has no such line. Returns to. */
const char *source_file_line(const struct source_file *f, size_t i, char *to, size_t size);

#endif
