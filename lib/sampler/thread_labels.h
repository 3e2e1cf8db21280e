/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads the copies of threads' labels that samplers bring (pcce/labels.h), and finds the names of
 * their keys: in the record, or in the process (OTEP 4719). What has no name is left out, as OTEP
 * 4947 says.
 */
#ifndef PCCE_SAMPLER_THREAD_LABELS_H
#define PCCE_SAMPLER_THREAD_LABELS_H

#include <sys/types.h>
#include "stream/label_sets.h"

struct thread_labels;

/* NULL: no memory. */
struct thread_labels *thread_labels_new(void);
void thread_labels_free(struct thread_labels *t);

/* Returns the labels in a copy of n words. NULL: it has none, or is not one. */
const struct label_set *thread_labels_of(struct thread_labels *t, pid_t pid, const uint64_t *words,
					 size_t n);
/* NULL: there are none of this number. */
const struct label_set *thread_labels_get(const struct thread_labels *t, uint64_t number);
/* The process has another program now. */
void thread_labels_exec(struct thread_labels *t, pid_t pid);

#endif
