/* SPDX-License-Identifier: GPL-2.0 */
/* Declares the copies of user stacks, of which a record brings only what has changed
 * (pcce/stack_blocks.h). */
#ifndef PCCE_STACKS_H
#define PCCE_STACKS_H

#include <linux/ptrace.h>

#include "reading.h"
#include "session.h"

size_t pcce_stacks_bytes(const struct pcce_session *s); /* what make allocates */
int pcce_stacks_make(struct pcce_session *s);
void pcce_stacks_free(struct pcce_session *s);

/* Parts of a stack (pcce/stack_blocks.h) that a record has room for: they take at most half of a
 * ring. */
static inline u32 pcce_stacks_parts(const struct pcce_kmod_setup *config)
{
	size_t most = config->ring_bytes / 2 / (PCCE_STACK_PART_WORDS * sizeof(u64));

	return min_t(size_t, most, PCCE_STACK_PARTS);
}

/* What a record has room for, for a copy of the stack. */
static inline u32 pcce_stacks_room(const struct pcce_kmod_setup *config)
{
	if (!(config->flags & PCCE_KMOD_COPY_STACKS))
		return 0;
	return sizeof(struct pcce_stack_registers) +
	       pcce_stacks_parts(config) * PCCE_STACK_PART_WORDS * sizeof(u64);
}

/*
 * For the handler: copies the user's registers, and what the reader does not know of the stack,
 * behind all else that r counts of the record at `to`, which has room for pcce_stacks_room() more.
 * Sets r->n_stack, and PCCE_SAMPLE_COPY. The record must then be sent. Copies nothing if the
 * session does not ask for this stack.
 */
void pcce_copy_stack(const struct pcce_session *s, struct pcce_cpu *c, const struct pt_regs *regs,
		     void *to, struct pcce_reading *r);

#endif
