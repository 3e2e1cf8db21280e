/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Verifies a decoded context against the real stack, which was unwound at the same instant: both
 * must name the same calls.
 */
#ifndef PCCE_DECODE_VERIFY_H
#define PCCE_DECODE_VERIFY_H

#include <pcce/abi.h>
#include "decode/context.h"

enum verify_result {
	VERIFY_NONE, /* no stack, or no decoded context */
	VERIFY_AGREES,
	VERIFY_MISMATCH,
	VERIFY_UNVERIFIABLE, /* the unwinder ended early; its frames agree */
};

/* stack: sample->n_stack run-time addresses, innermost (ip) first. ctx: not expanded. */
enum verify_result verify_context(const struct decode_space *as, const struct pcce_sample *sample,
				  const uint64_t *stack, const struct decode_context *ctx);

#endif
