/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adds up the equal samples of a merged recording, and writes them thread by thread. */
#ifndef PCCE_MERGE_SUMS_H
#define PCCE_MERGE_SUMS_H

#include <stdbool.h>
#include "stream/kernel_stacks.h"
#include "stream/label_sets.h"
#include "stream/writer.h"
#include "stream/stack_store.h"

/* What of the flags of a sample an aggregated one keeps. */
#define MERGED_SAMPLE_FLAGS                                                       \
	(PCCE_SAMPLE_KERNEL | PCCE_SAMPLE_OUTSIDE | PCCE_SAMPLE_READ_FAULT |      \
	 PCCE_SAMPLE_IP_MIXED | PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_FRAMES_PARTIAL | \
	 PCCE_SAMPLE_COUNTING | PCCE_SAMPLE_BETWEEN | PCCE_SAMPLE_TRACED |        \
	 PCCE_SAMPLE_KERNEL_STACK)

struct merge_sums;

/* What is added: also what a summary says of a context, or of a part of it (struct
 * pcce_rec_context). */
struct merge_context {
	uint64_t key[2];
	uint64_t samples, weight;
	const struct label_set *labels; /* NULL: none */
};

struct merge_sums *merge_sums_new(void);
void merge_sums_free(struct merge_sums *s);

/* Keeps the stacks that merge_sums_add() gets. */
struct stack_store *merge_sums_segments(struct merge_sums *s);

/* Samples are equal if they have the same pid, tid, ip, r11, id, ext, flags, n_entries, n_below,
 * n_stack and event, and the same entries, stack below, restored frames (n_stack) and frames of the
 * kernel, or the same kip, and the same labels. Ids of traces and spans are not kept. kernel: NULL:
 * none. The earliest time is kept. `add` has no key. 0 or -ENOMEM. */
int merge_sums_add(struct merge_sums *s, const struct pcce_sample *key,
		   const struct pcce_entry *entries, const struct stack_node *below,
		   const uint64_t *frames, const struct kernel_stack *kernel,
		   const struct merge_context *add);

/* Adds to the sum of a context, which has no restored frames. The sum becomes a CONTEXT record.
 * Contexts of different keys are different. */
int merge_sums_add_context(struct merge_sums *s, const struct pcce_sample *key,
			   const struct pcce_entry *entries, const struct stack_node *below,
			   const struct kernel_stack *kernel, const struct merge_context *context);
/* Called for each context before it is written: returns its error in *error; false: leave the
 * context out. */
typedef bool merge_sums_judge(void *ctx, const uint64_t key[2], uint64_t *error);
void merge_sums_set_judge(struct merge_sums *s, merge_sums_judge *judge, void *ctx);

size_t merge_sums_count(const struct merge_sums *s);
/* number: replaces pid and tid of a sample by those to be written. 0 or -errno. */
int merge_sums_write(const struct merge_sums *s, struct datafile_writer *w,
		     void (*number)(const void *ctx, struct pcce_sample *s), const void *ctx);

#endif
