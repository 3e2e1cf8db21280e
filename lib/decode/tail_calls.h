/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Part of the decoder: chains of tail calls. */
#ifndef PCCE_DECODE_TAIL_CALLS_H
#define PCCE_DECODE_TAIL_CALLS_H

#include "decode/context.h"
#include "elf/encoding_table.h"

/* Can a call of `from` be in `to` by direct tail calls? Breadth first; needed only where there is
 * not exactly one way. The working memory is kept in ctx; *no_memory is set if there is none. */
bool decode_tail_calls(struct decode_context *ctx, const struct encoding_table *t, uint32_t from,
		       uint32_t to, bool *no_memory);

#endif
