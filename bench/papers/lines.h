/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef PCCE_BENCH_LINES_H
#define PCCE_BENCH_LINES_H

#include <stdint.h>
#include "base/error.h"

/* Counts the files below root that the line table has code of, and their lines.  Returns 0, or
 * -errno with a message in why. */
int lines_count(const char *path, const char *root, uint64_t *lines, uint64_t *files,
		struct error *why);

#endif
