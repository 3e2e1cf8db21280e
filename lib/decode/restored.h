/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds the restored frames of uninstrumented code to a decoded context, and checks that both agree:
 * the frames must lead to the very call that the context names.
 */
#ifndef PCCE_DECODE_RESTORED_H
#define PCCE_DECODE_RESTORED_H

#include "decode/context.h"

enum restored_result {
	RESTORED_NONE,	   /* the sample has no frames, and needs none */
	RESTORED_WHOLE,	   /* they lead to the instrumented caller, or to the thread's beginning */
	RESTORED_PART,	   /* outer ones are missing */
	RESTORED_FAILED,   /* there is none */
	RESTORED_MISMATCH, /* they lead to another call: they are left out */
};

/* Is the code of an instrumented function or of a helper there? *helper says which, if so. */
bool restored_is_instrumented(const struct decode_space *as, uint64_t address, bool *helper);

/*
 * frames: the sample->n_stack return addresses of a sample with PCCE_SAMPLE_FRAMES. ctx: the
 * context of the sample. Where frames are missing, a GAP frame is added. Returns 0 or
 * -ENOMEM.
 */
int restored_add(const struct decode_space *as, const struct pcce_sample *sample,
		 const uint64_t *frames, struct decode_context *ctx, enum restored_result *result);

#endif
