/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Temporary files: for input that is read more than once (what comes from a pipe is copied to one
 * first), and for output whose size must be known before it is written.
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

/* 0, or -errno with one sentence in why. A path that cannot be opened is not looked at here. */
int temp_file_open(const char *path, struct temp_file *s, struct error *why);
void temp_file_close(struct temp_file *s);

/* An empty one, for writing and reading. NULL: errno says why. */
FILE *temp_file_stream(void);

#endif
