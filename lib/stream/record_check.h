/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Says which records pcce.data can have. The reader refuses all others, and so does the writer: no
 * tool ends with a recording that none can read. docs/data-format.md has the rules.
 */
#ifndef PCCE_STREAM_RECORD_CHECK_H
#define PCCE_STREAM_RECORD_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/datafile.h>

#define RECORD_STRINGS_MAX 8 /* of a record */

struct record_shape {
	const char *name;
	uint32_t fixed, max; /* bytes without strings and such; with them */
	unsigned int n_strings;
};

/* NULL: the type is unknown. */
const struct record_shape *record_shape(uint32_t type);

/* Is a record's size possible for its type? */
bool record_check_size(uint32_t type, uint64_t size);

/* What the records of a file up to now decide. Begins as zeros. */
struct record_check {
	uint64_t records;
	uint32_t n_modules, n_kernel_stacks, n_label_sets;
	bool summary;  /* a HOT record was met */
	bool complete; /* the END record was met */
};

/* Checks the next record of a file, whose size is possible. NULL, or what is wrong: how a sentence
 * goes on that begins with "the NAME record". */
const char *record_check(struct record_check *c, const struct pcce_record *rec);

#endif
