/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef PCCE_BENCH_LINES_H
#define PCCE_BENCH_LINES_H

#include <stdint.h>
#include "base/error.h"

/* Lines of the source files below root that the file's line table has code of. 0, or -errno. */
int lines_count(const char *path, const char *root, uint64_t *lines, uint64_t *files,
		struct error *why);

#endif
