/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps a summary of the samples of a recording in bounded memory (pcce-record --hot): the weighted
 * algorithm of Misra and Gries (hot/misra_gries.h) on the keys of contexts (context_keys.h).
 *
 * At most 2 / epsilon contexts are kept, of all processors, processes and threads together. Each
 * has one sample, with which the report decodes it, and the part of its encoding stack that no
 * other one has. Let N be the weight of all samples that were taken. Then a context of more than
 * epsilon N is kept, and no count lacks more than epsilon N. Lost samples are not part of N.
 *
 * A sampler may count itself (pcce/places.h). Then some samples claim a
 * place, and the sampler later says how many equal samples the place has counted. What is equal
 * depends on classes of addresses (classes.h). A class holds in one epoch of its process
 * (address_space.h). The sampler learns late that an epoch has ended. So if the process of a place
 * has begun another epoch since the place's class was found, what the place counted is
 * undecodable, as with PCCE_SAMPLE_MIXED.
 *
 * Nothing is written before hot_recorder_write(). Some memory depends on the program, but not on
 * its contexts: what modules, mappings and the encoding stacks of threads need.
 */
#ifndef PCCE_FILTER_HOT_H
#define PCCE_FILTER_HOT_H

#include <stdbool.h>
#include <pcce/datafile.h>
#include "hot/parameters.h"
#include "filter/context_keys.h"
#include "stream/modules.h"

struct hot_recorder;

/*
 * lossy: it only gets whole summaries of Lossy Counting. These may have more than 2 / epsilon
 * contexts, and their sum, too. Contexts of at most epsilon N are dropped then, the smallest first,
 * until 2 / epsilon are left.
 *
 * NULL: no memory, for example for 2 / epsilon counters. The modules must outlive it.
 */
struct hot_recorder *hot_recorder_new(const struct record_modules *m,
				      const struct hot_parameters *p, bool lossy);
void hot_recorder_free(struct hot_recorder *h);

/* Tell about address spaces, in the order of the records. 0 or -ENOMEM. */
int hot_recorder_process(struct hot_recorder *h, const struct pcce_rec_process *p);
int hot_recorder_map(struct hot_recorder *h, const struct pcce_rec_map *map);

/* Counts a sample, which its entries and segments follow. 0, -ENOMEM, or -EOVERFLOW: N would not
 * fit into 64 bits. */
int hot_recorder_sample(struct hot_recorder *h, const struct pcce_sample *s);

/* The same for a sample that claims a place by a class of this epoch. */
int hot_recorder_claim(struct hot_recorder *h, const struct pcce_sample *s, uint32_t place,
		       uint32_t epoch);
/* Returns the sample that claimed the place last, or NULL. */
const struct pcce_sample *hot_recorder_place(const struct hot_recorder *h, uint32_t place);
/* Counts samples that the place has counted. Their time is the present: of the last record. */
int hot_recorder_counted(struct hot_recorder *h, uint32_t place, uint64_t samples, uint64_t weight);
/* Counts several samples like s. */
int hot_recorder_add_equal(struct hot_recorder *h, const struct pcce_sample *s, uint64_t samples,
			   uint64_t weight);
/* By which it finds the classes of addresses. */
struct address_spaces *hot_recorder_spaces(struct hot_recorder *h);
struct context_keys *hot_recorder_keys(struct hot_recorder *h);

/*
 * Adds a whole summary of Space Saving (hot/space_saving.h) or Lossy Counting with the same
 * epsilon: begin, and then each sample with its weight and error. missing: the most that any
 * context has of which there is no sample; nameless: what was counted with no context. N is
 * nameless and the weights of all samples. It ends with the next one, or when it is written. The
 * same errors.
 */
int hot_recorder_begin_summary(struct hot_recorder *h, uint64_t missing, uint64_t nameless);
int hot_recorder_add(struct hot_recorder *h, const struct pcce_sample *s, uint64_t weight,
		     uint64_t error);

/* Writes the summary. 0, -ENOMEM, or the writer's error. */
int hot_recorder_write(struct hot_recorder *h, struct datafile_writer *w, uint64_t time);

#endif
