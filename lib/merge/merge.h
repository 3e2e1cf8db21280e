/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Merges recordings of many runs, processes and machines into one, and adds up equal samples. The
 * result grows with the number of different contexts, modules and symbols. It does not grow with
 * the number of samples, files or processes.
 *
 * All processes that run one program under one name become one process. Their threads of one name
 * become one thread. Each module gets its own address range, the same in every process, so that
 * samples of runs at random addresses become equal (relocator.h). An aggregated sample has the time
 * of its first sample, since 1970.
 */
#ifndef PCCE_MERGE_MERGE_H
#define PCCE_MERGE_MERGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "stream/writer.h"
#include "base/error.h"

struct merge;

struct merge *merge_new(void); /* NULL: out of memory */
void merge_free(struct merge *m);

/* Adds a recording, and calls note with each warning. 0; or -errno with one sentence in why: then
 * only merge_free() may follow. */
int merge_add(struct merge *m, const char *path, void (*note)(const char *text), struct error *why);

/* Writes the merged recording with its end record. 0, -ENOMEM, or the writer's error. */
int merge_write(const struct merge *m, struct datafile_writer *w);

struct merge_counts {
	uint64_t files, samples, sums, modules;
};
struct merge_counts merge_counts(const struct merge *m);

#endif
