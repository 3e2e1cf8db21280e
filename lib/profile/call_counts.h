/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a recording tells of a program's calls: how many samples were taken in the function that a
 * site calls, when it was called from there.  Samples in functions that it calls in turn do not
 * count, but for those that are not instrumented.
 */
#ifndef PCCE_PROFILE_CALL_COUNTS_H
#define PCCE_PROFILE_CALL_COUNTS_H

#include <stddef.h>
#include <stdint.h>
#include "base/error.h"

struct call_count {
	uint64_t key; /* of the site (include/pcce/table.h); link-time */
	uint64_t samples;
};

struct call_counts {
	struct call_count *all; /* ordered by key, each once; malloc'ed */
	size_t n;
	uint64_t samples; /* all of them together; not 0 */
};

/* Of the module that has program's build id, from the recording at path. 0; or -errno with a whole
 * sentence in why. */
int call_counts_read(const char *path, const char *program, struct call_counts *out,
		     struct error *why);
void call_counts_free(struct call_counts *c);

#endif
