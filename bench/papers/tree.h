/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares how to read a calling context tree that count.c wrote. */
#ifndef PCCE_BENCH_TREE_H
#define PCCE_BENCH_TREE_H

#include "base/error.h"
#include "bench/papers/count.h"

/* Maps the file until the end of the process.  Returns 0, or -errno with a sentence fragment in why
 * that continues the file's name. */
int count_file_open(const char *path, const struct count_file **out, struct error *why);

#endif
