/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Changes the frames of a context during decoding. The functions that add frames return false if
 * memory is lacking.
 */
#ifndef PCCE_DECODE_FRAMES_H
#define PCCE_DECODE_FRAMES_H

#include "decode/context.h"

void decode_frames_clear(struct decode_context *ctx);
bool decode_frames_add(struct decode_context *ctx, const struct decode_frame *f);
/* Appends copies of frames[start .. start + n), `times` times. */
bool decode_frames_copy(struct decode_context *ctx, size_t start, size_t n, uint64_t times);
/* Makes room for n frames before frames[at], which the caller fills. 0 or -ENOMEM. */
int decode_frames_open(struct decode_context *ctx, size_t at, size_t n);
bool decode_frames_same(const struct decode_frame *a, const struct decode_frame *b, size_t n);

#endif
