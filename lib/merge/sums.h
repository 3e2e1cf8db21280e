/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The samples of a merged recording: those that are alike, added up, and written thread by thread.
 */
#ifndef PCCE_MERGE_SUMS_H
#define PCCE_MERGE_SUMS_H

#include "recording/writer.h"
#include "recording/stack_store.h"

struct merge_sums;

struct merge_sums *merge_sums_new(void);
void merge_sums_free(struct merge_sums *s);

/* Where stacks that are given to merge_sums_add() are kept. */
struct stack_store *merge_sums_segments(struct merge_sums *s);

/* key: pid, tid, ip, r11, id, ext, kip, flags, n_entries, n_below and event count, and so do the
 * entries and what is below; time is kept if it is the first. 0 or -ENOMEM. */
int merge_sums_add(struct merge_sums *s, const struct pcce_sample *key,
		   const struct pcce_entry *entries, const struct stack_node *below,
		   uint64_t samples, uint64_t weight);

size_t merge_sums_count(const struct merge_sums *s);
/* number: sets pid and tid of a sample to those that are to be written. 0 or -errno. */
int merge_sums_write(const struct merge_sums *s, struct datafile_writer *w,
		     void (*number)(const void *ctx, struct pcce_sample *s), const void *ctx);

#endif
