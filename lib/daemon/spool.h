/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The folder of windows that are recorded and not sent. Their names are in the order of time. */
#ifndef PCCE_DAEMON_SPOOL_H
#define PCCE_DAEMON_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#define SPOOL_WINDOW "window" /* pcce-record -o FOLDER/window */

struct spool_window {
	char *name; /* in the folder */
	uint64_t bytes;
};

struct spool {			      /* empty: all zeros */
	struct spool_window *windows; /* the oldest first */
	size_t n, capacity;
	uint64_t bytes; /* of all, and of what is not complete */
};

/* Lists the complete windows. 0 or -errno. */
int spool_list(struct spool *s, const char *folder);
void spool_free(struct spool *s);
/* Gives windows their names that the recorder has left without an end. It must not run. */
void spool_adopt(const char *folder);

/* Reads how many samples a window has and lost. Both are 0 if it has no end. */
void spool_counts(const char *folder, const char *name, uint64_t *samples, uint64_t *lost);

#endif
