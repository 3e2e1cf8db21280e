/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Merges what recordings with --hot say of contexts (struct pcce_rec_hot), and writes the result.
 * hot/misra_gries.h does the counting, so all bounds remain. The result has the largest epsilon of
 * all recordings.
 */
#ifndef PCCE_MERGE_SUMMARY_H
#define PCCE_MERGE_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include "stream/recording.h"
#include "stream/writer.h"

/* ---- writing --------------------------------------------------------------------- */

struct summary_totals {
	struct recording_hot hot;	    /* of the whole summary */
	uint64_t kept_samples, kept_weight; /* of the contexts that are written */
	uint64_t time;
};

/* Writes the HOT record, and one for all that is not attributed to a context. 0 or the writer's
 * error. */
int summary_write(const struct summary_totals *t, struct datafile_writer *w);

/* ---- merging --------------------------------------------------------------------- */

struct summary;

struct summary *summary_new(void); /* NULL: no memory */
void summary_free(struct summary *s);

/* Begins the next recording. */
void summary_begin(struct summary *s, const struct recording_hot *hot);
/* Adds a CONTEXT record of this recording, except those with PCCE_SAMPLE_COLD. 0 or -ENOMEM. */
int summary_add(struct summary *s, const uint64_t key[2], uint64_t samples, uint64_t weight,
		uint64_t error);
/* Ends it. 0, -ENOMEM, -EOVERFLOW: N would not fit into 64 bits, -EINVAL: no summary can say what
 * this recording says, or -ERANGE: errors would be larger than epsilon N, which can only happen to
 * summaries of Lossy Counting. */
int summary_end(struct summary *s);

/* Tells whether a context is in the result, and the error of its first part that is asked for; the
 * errors of its other parts are 0. A function of struct merge_sums; ctx: the summary. */
bool summary_judge(void *ctx, const uint64_t key[2], uint64_t *error);

/* Fills in the totals of the result, except the time. */
void summary_finish(const struct summary *s, struct summary_totals *t);

#endif
