/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads from a recording how many samples came through each site of a program. */
#ifndef PCCE_PROFILE_CALL_COUNTS_READ_H
#define PCCE_PROFILE_CALL_COUNTS_READ_H

#include "base/error.h"
#include "encode/call_counts.h"

/* Of the module that has program's build id, from the recording at path. 0; or -errno with a whole
 * sentence in why. */
int call_counts_read(const char *path, const char *program, struct call_counts *out,
		     struct error *why);

#endif
