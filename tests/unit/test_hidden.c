/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Decodes samples of a program that hides its runtime from its libraries: all are marked. */
#include <string.h>
#include "tests/unit/decode_fixture.h"
#include "tests/unit/tap.h"

static void is_marked(const char *name, int r, const struct decode_context *ctx, const char *want,
		      enum decode_status status, enum decode_reason reason)
{
	render(ctx);
	tap_ok(!r && !strcmp(text, want) && ctx->status == status && ctx->reason == reason, name,
	       "got \"%s\" (%d, %s)", text, ctx->status, decode_reason_name(ctx->reason));
}

int main(void)
{
	struct decode_context ctx = {0};
	int r;

	fixture_init(&fx);
	((struct pcce_table *)fx.exe_data)->flags |= PCCE_TABLE_HIDDEN;
	begin(exe(0x5001), 0);
	push_exe(0, S_REC_REC, 1);
	r = decode_sample(&fx.as, &sample, entries, sample.n_entries, false, true, &ctx);
	is_marked("in the program", r, &ctx, "rec ?", DECODE_UNDECODABLE, DECODE_REASON_LOST_ID);
	r = decode_origin(&fx.as, entries, sample.n_entries, false, &ctx);
	is_marked("a creation context", r, &ctx, "?", DECODE_UNDECODABLE, DECODE_REASON_LOST_ID);
	begin(lib(0x1001), 0);
	r = decode_sample(&fx.as, &sample, entries, sample.n_entries, false, true, &ctx);
	is_marked("in a library", r, &ctx, "lib_entry ?", DECODE_UNDECODABLE,
		  DECODE_REASON_LOST_ID);
	sample.flags = PCCE_SAMPLE_OUTSIDE;
	r = decode_sample(&fx.as, &sample, entries, 0, false, true, &ctx);
	is_marked("outside of its threads", r, &ctx, "lib_entry", DECODE_OUTSIDE,
		  DECODE_REASON_NONE);
	decode_context_free(&ctx);
	fixture_free(&fx);
	return tap_done();
}
