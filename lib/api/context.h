/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A context of libpcce-decode: a decoded one, with the names of its frames. */
#ifndef PCCE_API_CONTEXT_H
#define PCCE_API_CONTEXT_H

#include <pcce/abi.h>
#include <pcce/decode.h>
#include "base/error.h"
#include "decode/context.h"
#include "stream/stream.h"
#include "symbols/symbol_table.h"

struct pcce_decode_context {
	struct symbol_table *names;
	uint32_t kernel; /* module of the kernel; UINT32_MAX: none */
	bool inlined, expanded, origins;
	struct decode_context decoded;
	struct pcce_decode_frame *frames; /* innermost first */
	size_t n, capacity;
};

/* Begins with no frames, and makes the symbol table. 0, or -EINVAL or -ENOMEM with a sentence in
 * why. */
int api_context_new(struct pcce_decode_context *c, uint64_t flags, struct error *why);
void api_context_free(struct pcce_decode_context *c);

/* Decodes a sample into c; as decode_sample(). 0 or -ENOMEM. */
int api_context_decode(struct pcce_decode_context *c, const struct decode_space *as,
		       const struct stream_event *of, const struct pcce_entry *entries, uint32_t n);

/* Copies the text, where the caller wants it, and returns r. */
int api_error(struct pcce_decode_error *to, const struct error *from, int r);

#endif
