/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Grows and compares the frames of a context: see frames.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "decode/frames.h"

void decode_frames_clear(struct decode_context *ctx)
{
	ctx->n = 0;
	ctx->depth = 0;
	ctx->origin = 0;
	ctx->status = DECODE_EXACT;
	ctx->reason = DECODE_REASON_NONE;
}

static bool reserve_frames(struct decode_context *ctx, size_t more)
{
	size_t need;

	return !__builtin_add_overflow(ctx->n, more, &need) &&
	       (need <= ctx->capacity ||
		!array_reserve(&ctx->frames, &ctx->capacity, need, sizeof(*ctx->frames)));
}

bool decode_frames_add(struct decode_context *ctx, const struct decode_frame *f)
{
	if (!reserve_frames(ctx, 1))
		return false;
	ctx->frames[ctx->n++] = *f;
	return true;
}

bool decode_frames_copy(struct decode_context *ctx, size_t start, size_t n, uint64_t times)
{
	size_t all;

	if (__builtin_mul_overflow(n, (size_t)times, &all) || !reserve_frames(ctx, all))
		return false;
	for (; times; times--) {
		memcpy(&ctx->frames[ctx->n], &ctx->frames[start], n * sizeof(*ctx->frames));
		ctx->n += n;
	}
	return true;
}

int decode_frames_open(struct decode_context *ctx, size_t at, size_t n)
{
	if (!reserve_frames(ctx, n))
		return -ENOMEM;
	memmove(&ctx->frames[at + n], &ctx->frames[at], (ctx->n - at) * sizeof(*ctx->frames));
	ctx->n += n;
	return 0;
}

bool decode_frames_same(const struct decode_frame *a, const struct decode_frame *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a[i].kind != b[i].kind || a[i].module != b[i].module ||
		    a[i].func != b[i].func || a[i].site != b[i].site ||
		    a[i].address != b[i].address)
			return false;
	return true;
}
