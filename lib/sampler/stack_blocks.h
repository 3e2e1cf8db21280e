/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Completes the stacks of which a sampler in the kernel sends only new blocks
 * (pcce/stack_blocks.h). */
#ifndef PCCE_SAMPLER_STACK_BLOCKS_H
#define PCCE_SAMPLER_STACK_BLOCKS_H

#include <stdint.h>
#include <pcce/abi.h>

struct stack_blocks;

/* NULL: no memory */
struct stack_blocks *stack_blocks_new(uint32_t rings);
void stack_blocks_free(struct stack_blocks *b);

/*
 * Completes a sample with PCCE_SAMPLE_COPY. Takes each ring's samples in the order in which they
 * were written, each once. *out is as include/pcce/abi.h describes it, and valid until the next
 * call. 0, -ENOMEM, or -EBADMSG if no sampler can have written this.
 */
int stack_blocks_complete(struct stack_blocks *b, uint32_t ring, const struct pcce_sample *s,
			  const struct pcce_sample **out);

/* Returns the bytes that brought the stacks and registers, since the beginning. */
uint64_t stack_blocks_copied(const struct stack_blocks *b);

#endif
