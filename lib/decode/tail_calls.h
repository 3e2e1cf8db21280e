/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds out whether chains of direct tail calls connect two functions. */
#ifndef PCCE_DECODE_TAIL_CALLS_H
#define PCCE_DECODE_TAIL_CALLS_H

#include "decode/context.h"
#include "elf/encoding_table.h"

/*
 * Can a call of `from` be in `to` by direct tail calls? Needed only if not exactly one chain leads
 * there. ctx keeps the working memory; *no_memory is set if memory is lacking.
 */
bool decode_tail_calls(struct decode_context *ctx, const struct encoding_table *t, uint32_t from,
		       uint32_t to, bool *no_memory);

/* The function that a gate tail-calls; PCCE_NONE: the table is damaged. */
uint32_t decode_behind_gate(const struct encoding_table *t, uint32_t gate);

#endif
