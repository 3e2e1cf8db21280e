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
 * Nothing is written before the end. Some memory depends on the program, but not on its contexts:
 * what modules, mappings and the encoding stacks of threads need.
 */
#ifndef PCCE_FILTER_HOT_H
#define PCCE_FILTER_HOT_H

#include <stdbool.h>
#include "filter/context_keys.h"
#include "hot/parameters.h"
#include "stream/address_space.h"
#include "stream/stream.h"
#include "stream/writer.h"

/*
 * lossy: it only gets whole summaries of Lossy Counting. These may have more than 2 / epsilon
 * contexts, and their sum, too. Contexts of at most epsilon N are dropped then, the smallest first,
 * until 2 / epsilon are left. Other whole summaries are of Space Saving, with
 * the same epsilon.
 *
 * NULL: no memory, for example for 2 / epsilon counters. All must outlive it. The stage before it
 * keeps the spaces. Besides -ENOMEM, an error is -EOVERFLOW: N would not fit into 64 bits.
 */
struct stream *hot_new(struct datafile_writer *w, struct address_spaces *spaces,
		       struct context_keys *keys, const struct hot_parameters *p, bool lossy);

#endif
