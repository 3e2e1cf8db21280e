/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Hashes all that the context of a sample depends on, for caches of what is found by decoding. */
#ifndef PCCE_FILTER_SAMPLE_STATE_H
#define PCCE_FILTER_SAMPLE_STATE_H

#include "decode/decode.h"
#include "stream/stack_store.h"

/* layout: of as (address_space.h). below: the known part of the stack below the sample's entries.
 * state[1] is never 0. */
void sample_state(const struct decode_space *as, uint64_t layout, const struct pcce_sample *s,
		  const struct stack_node *below, uint64_t state[2]);

#endif
