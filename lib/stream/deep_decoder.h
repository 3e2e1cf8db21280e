/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes deep contexts in parts (decode/decode.h), each of few segments of the encoding stack.
 * A user remembers each rest that it has met. So what many contexts share is decoded once.
 */
#ifndef PCCE_STREAM_DEEP_DECODER_H
#define PCCE_STREAM_DEEP_DECODER_H

#include "decode/decode.h"
#include "stream/stack_store.h"

struct deep_decoder {
	struct stack_store_flat flat;  /* the entries of the last part */
	struct decode_context context; /* its frames */
	bool origins;
};

void deep_decoder_free(struct deep_decoder *d);

/* What is left of a context. All that it means depends on the first three, in one address space. */
struct deep_rest {
	const struct stack_node *node; /* its newest segment; NULL: nothing is left */
	const struct decode_module *module;
	uint32_t func;
	uint64_t unknown;  /* entries below all known ones */
	uint64_t consumed; /* entries of the last part */
};

/* Is it worth it, and possible for this sample? */
bool deep_decoder_suits(const struct pcce_sample *s, const struct stack_node *below);

/* Decode the first part of a sample, and the next one. 0 or -ENOMEM. */
int deep_decoder_first(struct deep_decoder *d, const struct decode_space *as,
		       const struct pcce_sample *s, const struct stack_node *below,
		       struct deep_rest *rest);
int deep_decoder_next(struct deep_decoder *d, const struct decode_space *as,
		      struct deep_rest *rest);

#endif
