/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From a sample to the chain of calls: the inverse of the encoding (Sumner et al.,
 * Algorithms 2 and 4, and section 4 of docs/design.md for what a sample means at each
 * instruction).  Pure: no I/O, no global state; one decoder may be used from
 * several threads once all tables are added.
 */
#ifndef PCCE_DECODE_DECODE_H
#define PCCE_DECODE_DECODE_H

#include "decode/context.h"

/*
 * Decodes one sample.  Repetition: an entry with count c stands for c + 1 pushes in
 * a row from one site with one id, so the segment that this id describes (from its
 * root to the function of that site) occurs c + 1 times.  With expand, these are
 * written out; otherwise they stand once, with frame.repeat = c, or twice, with frame.repeat = c -
 * 1 on the outer ones, where what lies between two repetitions differs from what lies before the
 * first.
 *
 * entries: the newest n_entries of the whole encoding stack, oldest first; those below are not
 * known. See recording/stack_store.h for putting them together.
 *
 * origins: the context goes on where the thread was created, and where that one was, after a frame
 * of the kind ORIGIN.
 *
 * 0, or -ENOMEM. A sample that does not decode is not an error: see ctx->status.
 */
int decode_sample(const struct decode_space *as, const struct pcce_sample *sample,
		  const struct pcce_entry *entries, uint32_t n_entries, bool expand, bool origins,
		  struct decode_context *ctx);
/* Only where the thread comes from: the first n_entries of them are up to ctx->origin. The
 * innermost frame is that of the kind ORIGIN. 0, or -ENOMEM. */
int decode_origin(const struct decode_space *as, const struct pcce_entry *entries,
		  uint32_t n_entries, bool expand, struct decode_context *ctx);

/* Does the meaning of a sample at this ip depend on r11? */
bool decode_needs_r11(const struct decode_space *as, uint64_t ip);

#endif
