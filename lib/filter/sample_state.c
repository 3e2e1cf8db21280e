/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See sample_state.h. */
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <pcce/sample.h>
#include "filter/sample_state.h"

/* No padding: it is hashed as bytes. */
struct state {
	uint64_t layout, ip, r11, id, ext, kip, below;
	uint32_t flags, n_entries, n_below, event;
};

void sample_state(const struct decode_space *as, uint64_t layout, const struct pcce_sample *s,
		  const struct stack_node *below, uint64_t state[2])
{
	const struct state words = {
		.layout = layout,
		.ip = s->ip,
		.r11 = decode_needs_r11(as, s->ip) ? s->r11 : 0,
		.id = s->id,
		.ext = s->ext,
		.kip = s->kip,
		.below = stack_store_hash(below),
		.flags = s->flags & ~PCCE_SAMPLE_TRUNCATED,
		.n_entries = s->n_entries,
		.n_below = s->n_below,
		.event = s->event,
	};
	XXH128_hash_t h = XXH3_128bits_withSeed(pcce_sample_entries(s),
						s->n_entries * sizeof(struct pcce_entry),
						XXH3_64bits(&words, sizeof(words)));

	state[0] = h.low64;
	state[1] = h.high64 + !h.high64;
}
