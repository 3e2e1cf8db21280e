/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds the parts that follow a struct pcce_sample in memory (abi.h), and checks its counts. */
#ifndef PCCE_SAMPLE_H
#define PCCE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>

static inline const struct pcce_entry *pcce_sample_entries(const struct pcce_sample *s)
{
	return (const struct pcce_entry *)(s + 1);
}

static inline const struct pcce_segment *pcce_sample_segments(const struct pcce_sample *s)
{
	return (const struct pcce_segment *)(pcce_sample_entries(s) + s->n_entries);
}

static inline const uint64_t *pcce_sample_stack(const struct pcce_sample *s)
{
	return (const uint64_t *)(pcce_sample_segments(s) + s->n_segments);
}

/* Bytes of the sample with all that follows. */
static inline size_t pcce_sample_size(const struct pcce_sample *s)
{
	return sizeof(*s) + s->n_entries * sizeof(struct pcce_entry) +
	       s->n_segments * sizeof(struct pcce_segment) + s->n_stack * sizeof(uint64_t);
}

/* Checks that the counts agree with each other. Does not check that all that they count is
 * there. */
static inline bool pcce_sample_counts_agree(const struct pcce_sample *s, uint32_t segments_max,
					    uint32_t stack_max)
{
	return s->n_entries <= PCCE_SEGMENT_ENTRIES && s->n_segments <= segments_max &&
	       s->n_segments <= s->n_below && s->n_stack <= stack_max &&
	       (s->n_below || !s->below) &&
	       (!s->n_stack ||
		s->flags & (PCCE_SAMPLE_STACK | PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_COPY));
}

/* Checks that a sampler could have written the counts. */
static inline bool pcce_sample_counts_are_possible(const struct pcce_sample *s, uint32_t stack_max)
{
	return pcce_sample_counts_agree(s, PCCE_SAMPLE_SEGMENTS, stack_max);
}

#endif
