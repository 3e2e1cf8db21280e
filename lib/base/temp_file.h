/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Makes temporary files: for input that is read more than once, so that input from a pipe is copied
 * first, and for output whose size must be known before it is written.
 */
#ifndef PCCE_BASE_TEMP_FILE_H
#define PCCE_BASE_TEMP_FILE_H

#include <stddef.h>
#include <stdio.h>
#include "base/error.h"

struct temp_file {
	const char *path; /* can be opened as often as needed */
	int fd;		  /* of the temporary file, or -1 */
	char own[32];
};

/* Sets s->path to a file that can be opened as often as needed: to a copy, or to path itself if it
 * is a regular file, a folder, or cannot be opened. 0, or -errno with one sentence in why. */
int temp_file_open(const char *path, struct temp_file *s, struct error *why);
/* Makes an empty file, which programs that this one starts can open as s->path, too. 0 or
 * -errno. */
int temp_file_create(struct temp_file *s);
void temp_file_close(struct temp_file *s);

/* Returns an empty temporary file for writing and reading. NULL: errno says why. */
FILE *temp_file_stream(void);

#endif
