/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes samples: the inverse of the encoding (Sumner et al., ICSE 2010, Algorithms 2 and 4).
 * docs/decisions/013-decoding.md says what a sample means at each instruction.
 *
 * The decoder is pure: it does no input or output and has no global state. After all tables are
 * added, several threads can use it at the same time.
 */
#ifndef PCCE_DECODE_DECODE_H
#define PCCE_DECODE_DECODE_H

#include "decode/context.h"

/*
 * Decodes one sample. Returns 0 or -ENOMEM. An undecodable sample is not an error: see ctx->status.
 *
 * entries: the newest n_entries of the encoding stack, oldest first. stream/stack_store.h puts
 * them together. Older entries are not known.
 *
 * expand: repetitions are written out. An entry with count c means c + 1 pushes in a row, from one
 * site and with one id. So the segment that this id describes, from its root to the function of
 * that site, occurs c + 1 times. Without expand, its frames are given once, with frame.repeat = c.
 * They are given twice if the frames between two repetitions differ from those before the first
 * one. Then the outer ones have frame.repeat = c - 1.
 *
 * origins: the context continues, after a frame of the kind ORIGIN, with the creation context of
 * the thread, and with that of its creator.
 */
int decode_sample(const struct decode_space *as, const struct pcce_sample *sample,
		  const struct pcce_entry *entries, uint32_t n_entries, bool expand, bool origins,
		  struct decode_context *ctx);
/*
 * The same in parts, for those who decode many deep samples: what lies below a segment of the stack
 * is then decoded once. A part ends where all that matters for the rest is the function that the
 * next entry's push has called. `left` of the given entries are left then, and belong to whole
 * segments.
 *
 * more: known segments lie below the given entries. With needs_more they must be given, too, since
 * the part does not end before. Else, without a module, the context ends in this part, which has
 * its status. ctx has the frames of the part.
 */
struct decode_rest {
	const struct decode_module *module;
	uint32_t func, left;
	bool needs_more;
};

int decode_first_part(const struct decode_space *as, const struct pcce_sample *sample,
		      const struct pcce_entry *entries, uint32_t n_entries, bool more, bool origins,
		      struct decode_context *ctx, struct decode_rest *rest);
/* rest: of the part before, and then of this one. deeper: entries that are not given, known or not.
 */
int decode_next_part(const struct decode_space *as, const struct pcce_entry *entries,
		     uint32_t n_entries, bool more, uint64_t deeper, bool origins,
		     struct decode_context *ctx, struct decode_rest *rest);

/*
 * Decodes only the creation context of a thread. n_entries is the ctx->origin of a sample. The
 * innermost frame has the kind ORIGIN. Returns 0 or -ENOMEM.
 */
int decode_origin(const struct decode_space *as, const struct pcce_entry *entries,
		  uint32_t n_entries, bool expand, struct decode_context *ctx);

/*
 * With hybrid encoding, makes the sample independent of addresses of the stack: where the page has
 * the segment's base, takes the stack pointer from it. decode_sample() and all that compares
 * samples expect this. Not for aggregated samples, and once for each sample.
 */
void decode_take_stack_pointer(const struct decode_space *as, struct pcce_sample *sample);
/* May a sample at this ip change by that? */
bool decode_has_base(const struct decode_space *as, const struct pcce_sample *sample);

/* Does the meaning of a sample at this ip depend on r11? */
bool decode_needs_r11(const struct decode_space *as, uint64_t ip);

#endif
