/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the labels of threads (labels.c). */
#ifndef PCCE_USERLIB_LABELS_H
#define PCCE_USERLIB_LABELS_H

#include <stdint.h>
#include "internal.h"

#pragma GCC visibility push(hidden)

/* Names the calling thread's variable in its page. */
void labels_thread_begin(void);
/* Of the calling thread, or of one that a fork left behind: gives its memory back. */
void labels_thread_end(struct pcce_thread *t);
/* Copies the calling thread's record to a buffer of PCCE_LABELS_BYTES, for a sample. Returns its
 * number of words; 0: it has none. Async-signal-safe; any record may be there. */
uint32_t labels_copy(const struct pcce_thread *t, void *to);

#pragma GCC visibility pop

#endif
