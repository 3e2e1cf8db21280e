/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Ends a recording: appends SYMBOL records for all addresses in its contexts. */
#ifndef PCCE_RECORD_WRITE_SYMBOLS_H
#define PCCE_RECORD_WRITE_SYMBOLS_H

#include "stream/writer.h"
#include "stream/modules.h"
#include "base/error.h"

/* The modules of a recording. */
struct recorded_modules {
	const struct record_modules *of;
	const uint32_t *numbers; /* those of `of`, by number in the recording; NULL: the same */
	size_t n;
};

/*
 * Reads the recording at path, which w has flushed and still writes, decodes its samples and
 * appends the SYMBOL records. Calls warn with one sentence for each module that it cannot
 * symbolize, and note for the kernel. 0, or -errno: the writer's, or with a sentence in why.
 */
int write_symbols(const char *path, struct datafile_writer *w, const struct recorded_modules *m,
		  void (*warn)(const char *text), void (*note)(const char *text),
		  struct error *why);

#endif
