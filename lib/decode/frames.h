/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The frames of a context that is being decoded. What adds some returns false if there is no memory. */
#ifndef PCCE_DECODE_FRAMES_H
#define PCCE_DECODE_FRAMES_H

#include "decode/decode.h"

void frames_clear(struct context *ctx);
bool frames_add(struct context *ctx, const struct frame *f);
/* The n frames from start on, as many times more, at the end. */
bool frames_copy(struct context *ctx, size_t start, size_t n, uint64_t times);
bool frames_same(const struct frame *a, const struct frame *b, size_t n);

#endif
