/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What there is to a context beside decoding it. */
#include <stdlib.h>
#include "decode/decode.h"

void context_free(struct context *ctx)
{
	free(ctx->frames);
	free(ctx->scratch);
	*ctx = (struct context){0};
}

const char *decode_reason_name(enum decode_reason reason)
{
	static const char *const names[REASON_COUNT] = {
		[REASON_NONE] = "none",
		[REASON_READ_FAULT] = "read_fault",
		[REASON_LOST_ID] = "lost_id",
		[REASON_NO_EDGE] = "no_edge",
		[REASON_NOT_ROOT] = "not_root",
		[REASON_UNKNOWN_SITE] = "unknown_site",
		[REASON_WRONG_CALLEE] = "wrong_callee",
		[REASON_STALE_EXT] = "stale_ext",
		[REASON_RESTORING] = "restoring",
		[REASON_MIXED] = "mixed",
	};

	return (unsigned int)reason < REASON_COUNT ? names[reason] : "unknown";
}
