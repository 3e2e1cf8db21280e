/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads how many samples of a recording came through each call site of a program. */
#ifndef PCCE_PROFILE_CALL_COUNTS_READ_H
#define PCCE_PROFILE_CALL_COUNTS_READ_H

#include "base/error.h"
#include "encode/call_counts.h"

/* Counts in the recording at path, for all modules that have program's build id. 0, or -errno with
 * a whole sentence in why. */
int call_counts_read(const char *path, const char *program, struct call_counts *out,
		     struct error *why);

#endif
