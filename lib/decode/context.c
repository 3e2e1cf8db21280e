/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Frees contexts and names the reasons of undecodable samples. */
#include <stdlib.h>
#include "decode/context.h"

void decode_context_free(struct decode_context *ctx)
{
	free(ctx->frames);
	free(ctx->scratch);
	*ctx = (struct decode_context){0};
}

const char *decode_reason_name(enum decode_reason reason)
{
	static const char *const names[DECODE_REASON_COUNT] = {
		[DECODE_REASON_NONE] = "none",
		[DECODE_REASON_READ_FAULT] = "read_fault",
		[DECODE_REASON_LOST_ID] = "lost_id",
		[DECODE_REASON_NO_EDGE] = "no_edge",
		[DECODE_REASON_NOT_ROOT] = "not_root",
		[DECODE_REASON_UNKNOWN_SITE] = "unknown_site",
		[DECODE_REASON_WRONG_CALLEE] = "wrong_callee",
		[DECODE_REASON_STALE_EXT] = "stale_ext",
		[DECODE_REASON_RESTORING] = "restoring",
		[DECODE_REASON_NOT_ENCODED] = "not_encoded",
		[DECODE_REASON_SHARED_PAGE] = "shared_page",
		[DECODE_REASON_REDIRECTED] = "redirected",
		[DECODE_REASON_TRACED] = "traced",
		[DECODE_REASON_INTERRUPTED] = "interrupted",
	};

	return (unsigned int)reason < DECODE_REASON_COUNT ? names[reason] : "unknown";
}

bool decode_reason_truncates(enum decode_reason reason)
{
	return reason == DECODE_REASON_NOT_ENCODED || reason == DECODE_REASON_TRACED;
}
