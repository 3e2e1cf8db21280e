/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Leaves out samples whose contexts do not fit an expression (pcce-record --only), and counts them.
 * A sample is kept if the answer is not known: it may fit.
 *
 * A sampler may count itself (pcce/places.h). What a place counts has the answer of the sample that
 * claimed it, in the epoch of its process (address_space.h). What it counts later is kept, as one
 * aggregated sample that does not decode (PCCE_SAMPLE_MIXED).
 */
#ifndef PCCE_FILTER_ONLY_H
#define PCCE_FILTER_ONLY_H

#include <stdbool.h>
#include <pcce/datafile.h>
#include "api/expression.h"
#include "filter/context_keys.h"
#include "stream/modules.h"

struct only;

/* The samples that were taken. */
struct only_counts {
	uint64_t kept;
	uint64_t unknown; /* of the kept ones */
	uint64_t left_out, left_out_weight;
};

/* NULL: no memory. All must outlive it. */
struct only *only_new(const struct record_modules *m, const struct expression *e, const char *text);
void only_free(struct only *o);

/* Tell about address spaces, in the order of the records. 0 or -ENOMEM. */
int only_process(struct only *o, const struct pcce_rec_process *p);
int only_map(struct only *o, const struct pcce_rec_map *map);

/* Takes a sample, which its entries, segments and stack follow. *kept: what has to be recorded,
 * valid until the next call, with all segments that it needs (stack_store.h); NULL: it is left
 * out. 0 or -ENOMEM. */
int only_sample(struct only *o, const struct pcce_sample *s, const struct pcce_sample **kept);

/* The same for a sample that claims a place by a class of this epoch. */
int only_claim(struct only *o, const struct pcce_sample *s, uint32_t place, uint32_t epoch,
	       const struct pcce_sample **kept);
/* Whether the last sample that claimed the place was left out. */
bool only_leaves_out(const struct only *o, uint32_t place);
/* Takes samples that such a place has counted. *kept: as above, but without their number and
 * weight. */
void only_counted(struct only *o, uint32_t place, uint64_t samples, uint64_t weight,
		  const struct pcce_sample **kept);

/* By which it finds the classes of addresses; NULL: no memory. */
struct address_spaces *only_spaces(struct only *o);
struct context_keys *only_keys(struct only *o);

const struct only_counts *only_count(const struct only *o);
/* Returns a function of the expression that no module has, or NULL. */
const char *only_missing(struct only *o);
/* Writes what was left out, at the beginning and in the end. 0, or the writer's error. */
int only_write(struct only *o, struct datafile_writer *w, uint64_t time);

#endif
