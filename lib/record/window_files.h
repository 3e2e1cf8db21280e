/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Names the files of a recording in windows, and completes each in a process of its own, so that
 * nothing delays the sampler.
 *
 * A file is OUTPUT.TIME.part until it is complete, and then OUTPUT.TIME. TIME is that of its
 * beginning, in UTC with milliseconds, so the names are in order.
 */
#ifndef PCCE_RECORD_WINDOW_FILES_H
#define PCCE_RECORD_WINDOW_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct window_files {	   /* empty: all zeros */
	char *path, *part; /* of the present file */
	pid_t completer;   /* of the file before; 0: that is complete */
	bool failed;	   /* a file could not be completed */
	unsigned int n;	   /* files before the present one */
	uint64_t bytes;	   /* of these, without what completes them */
};

/* Chooses the names of the next file, as *f of it. 0 or -ENOMEM. */
int window_files_name(struct window_files *f, const char *output);

/* Is the file before not complete yet? */
bool window_files_busy(struct window_files *f);
/* Waits until it is. */
void window_files_wait(struct window_files *f);

/* Calls complete() in another process, then renames the file. What complete() says is all that the
 * user learns. It returns 0 or -errno. */
void window_files_complete(struct window_files *f, int (*complete)(void *ctx), void *ctx);

/* Gives the present file its name, when it is complete. 0, or -errno after a message. */
int window_files_rename(const struct window_files *f);

void window_files_free(struct window_files *f);

#endif
