/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unwinds the stack of each sample twice, as builds with and without RESTORE=1 do, and compares the
 * frames. It is linked with pcce-record instead of lib/filter/reuse.c's variable. When the recorder
 * ends, it prints how many samples and frames there were, and how many samples differ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "filter/reuse.h"

/* For pcce-record, this name is another one. */
#undef reuse_frames
extern const struct reuse_ops reuse_frames;

static unsigned long long samples, frames, differ;

static struct reuse *compare_new(void)
{
	return reuse_frames.new();
}

static void compare_free(struct reuse *r)
{
	fprintf(stderr, "compared %llu samples, %llu frames, %llu differ\n", samples, frames,
		differ);
	reuse_frames.free(r);
}

static int compare_unwind(struct reuse *r, struct stack_unwinder *u,
			  const struct reuse_sample *sample, const struct unwind_state *state,
			  struct unwind_sequence *reused, uint64_t *n_unwound, uint64_t *n_reused)
{
	const struct unwind_ops ops = {stack_unwinder_read, stack_unwinder_step,
				       sample->whole ? NULL : stack_unwinder_stop};
	int result = reuse_frames.unwind(r, u, sample, state, reused, n_unwound, n_reused);
	struct unwind_sequence whole = {0};

	samples++;
	frames += reused->n;
	if (unwind_frames(&ops, u, state, &whole) != result || whole.n != reused->n ||
	    whole.end != reused->end ||
	    (whole.n && memcmp(whole.ret, reused->ret, whole.n * sizeof(*whole.ret))))
		differ++;
	free(whole.ret);
	return result;
}

const struct reuse_ops compare_frames = {compare_new, compare_free, compare_unwind};
