/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The frames of a context that is being decoded. What adds some returns false if there is no
 * memory. */
#ifndef PCCE_DECODE_FRAMES_H
#define PCCE_DECODE_FRAMES_H

#include "decode/context.h"

void decode_frames_clear(struct decode_context *ctx);
bool decode_frames_add(struct decode_context *ctx, const struct decode_frame *f);
/* The n frames from start on, as many times more, at the end. */
bool decode_frames_copy(struct decode_context *ctx, size_t start, size_t n, uint64_t times);
bool decode_frames_same(const struct decode_frame *a, const struct decode_frame *b, size_t n);

#endif
