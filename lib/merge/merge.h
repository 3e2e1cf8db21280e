/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Joins recordings, of many runs, processes and machines, into one in which samples that are alike
 * are added up.  What is kept grows with the number of different contexts, modules and symbols, and
 * not with that of samples, files or processes.
 *
 * Of all processes that run one program under one name one is made, and of their threads of one
 * name one thread.  Each module gets a place of its own in memory, the same in every process, so
 * that samples of runs at random addresses become alike (relocator.h).  Times are those of the
 * first of the samples alike, since 1970.
 */
#ifndef PCCE_MERGE_MERGE_H
#define PCCE_MERGE_MERGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "recording/writer.h"
#include "base/error.h"

struct merge;

struct merge *merge_new(void); /* NULL: no memory */
void merge_free(struct merge *m);

/* Adds a recording. 0; or -errno with one sentence in why: then only merge_free() may follow.
 * Warnings go to notes. */
int merge_add(struct merge *m, const char *path, void (*note)(const char *text), struct error *why);

/* Writes all, with the end record. 0 or -errno: -ENOMEM, or what the writer says. */
int merge_write(const struct merge *m, struct datafile_writer *w);

struct merge_counts {
	uint64_t files, samples, sums, modules;
};
struct merge_counts merge_counts(const struct merge *m);

#endif
