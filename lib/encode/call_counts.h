/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How often a program's sites are on top of the stack, as a recording tells: the number of samples
 * taken in the function that a site calls, when it was called from there.  Samples in functions
 * which that one calls in turn do not count, except in uninstrumented ones.
 * profile/call_counts_read.h makes it from a recording; numbering_weight.c uses it.
 */
#ifndef PCCE_ENCODE_CALL_COUNTS_H
#define PCCE_ENCODE_CALL_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct call_count {
	uint64_t key; /* of the site (include/pcce/table.h); link-time */
	uint64_t samples;
};

struct call_counts {
	struct call_count *all; /* ordered by key, each once; malloc'ed */
	size_t n;
	uint64_t samples; /* all of them together; not 0 */
};

void call_counts_free(struct call_counts *c);

#endif
