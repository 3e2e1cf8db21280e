/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Searches the direct tail calls of a module, breadth first. */
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "decode/tail_calls.h"

uint32_t decode_behind_gate(const struct encoding_table *t, uint32_t gate)
{
	uint64_t i = encoding_table_first_tail(t, gate);

	return i < t->head->tails.count && t->tails[i].from == gate ? t->tails[i].to : PCCE_NONE;
}

bool decode_tail_calls(struct decode_context *ctx, const struct encoding_table *t, uint32_t from,
		       uint32_t to, bool *no_memory)
{
	size_t n_funcs = t->head->funcs.count, words = (n_funcs + 31) / 32, need = n_funcs + words;
	uint32_t *queue, *seen, head = 0, tail = 0;

	if (array_reserve(&ctx->scratch, &ctx->n_scratch, need, sizeof(*queue))) {
		*no_memory = true;
		return false;
	}
	queue = ctx->scratch;
	seen = queue + n_funcs;
	memset(seen, 0, words * sizeof(*seen));
	seen[from / 32] |= 1u << from % 32;
	queue[tail++] = from;
	while (head < tail) {
		uint32_t f = queue[head++];

		for (uint64_t i = encoding_table_first_tail(t, f);
		     i < t->head->tails.count && t->tails[i].from == f; i++) {
			uint32_t g = t->tails[i].to;

			if (g == to)
				return true;
			if (seen[g / 32] & 1u << g % 32)
				continue;
			seen[g / 32] |= 1u << g % 32;
			queue[tail++] = g;
		}
	}
	return false;
}
