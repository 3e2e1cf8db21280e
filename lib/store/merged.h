/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A merged recording in a temporary file, on its way into a store. */
#ifndef PCCE_STORE_MERGED_H
#define PCCE_STORE_MERGED_H

#include <stdint.h>
#include <stdio.h>
#include "base/error.h"
#include "merge/merge.h"
#include "stream/writer.h"

struct merged {
	FILE *file;
	char path[32];	  /* by which the file can be opened again */
	const char *name; /* of the recording, for messages */
	/* A hash of service and contents. Others of the same host and second have another one. */
	uint32_t run;
};

/* service: as in store_put(). 0, or -errno with a whole sentence in why. */
int merged_make(struct merged *m, const char *recording, const char *service,
		void (*note)(const char *text), struct error *why);
void merged_free(struct merged *m);

/* Writes a recording into a new temporary file, and returns that at its beginning. NULL: why has a
 * whole sentence. */
FILE *merged_file(int (*write)(const void *of, struct datafile_writer *w), const void *of,
		  struct error *why);
/* The same with what was merged so far. */
FILE *merged_write(const struct merge *of, struct error *why);

#endif
