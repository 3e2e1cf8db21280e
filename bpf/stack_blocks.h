/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines how the BPF program sends stacks (--frames): only the blocks whose content the reader
 * does not know.
 *
 * A stack is copied from sp on, up to SAMPLER_STACK bytes, in blocks of SAMPLER_BLOCK bytes. On
 * each CPU, the BPF program keeps the blocks that it has sent, in a table by address. It sends a
 * block if the table has another address or another content at its place. The reader has the same
 * table for each CPU. It applies the blocks of each record, and finds all others in the table.
 *
 * So both tables must always be equal. A CPU's program runs once at a time, its records are read in
 * their order, and a sample that has no room in the ring changes nothing. The tables know no
 * threads or processes: a block is an address and a content, whatever it belongs to. Threads that
 * take turns on a CPU mostly have places of different groups.
 */
#ifndef PCCE_BPF_STACK_BLOCKS_H
#define PCCE_BPF_STACK_BLOCKS_H

#include <pcce/abi.h>

#define SAMPLER_BLOCK 32u /* bytes; of 64 bytes, a tenth more is sent */
#define SAMPLER_STACK (PCCE_COPY_WORDS * 8u)
#define SAMPLER_STACK_BLOCKS (SAMPLER_STACK / SAMPLER_BLOCK)
#define SAMPLER_GROUPS 16u /* of places, each for one stack; a thread's number chooses */
#define SAMPLER_PLACES (SAMPLER_GROUPS * SAMPLER_STACK_BLOCKS)

struct sampler_block {
	__u64 word[SAMPLER_BLOCK / 8];
};

/* What a record has in place of the stack, before the blocks that are new. */
struct sampler_stack {
	__u64 changed[SAMPLER_STACK_BLOCKS / 64]; /* bit i: block i, from sp on, follows */
	__u32 blocks;				  /* of the stack; the first one contains sp */
	__u32 group;
	__u64 sent; /* number of blocks that follow */
};

/* One CPU's table. */
struct sampler_blocks {
	__u64 address[SAMPLER_PLACES]; /* of the block at a place; 0: none */
	struct sampler_block known[SAMPLER_PLACES];
	struct sampler_block now[SAMPLER_STACK_BLOCKS]; /* the program's: the stack as it is */
};

PCCE_ASSERT_SIZE(sampler_stack, 48);
PCCE_STATIC_ASSERT(SAMPLER_STACK_BLOCKS == 256, "four words have its bits");

#define SAMPLER_STACK_SENT_WORDS \
	((sizeof(struct sampler_stack) + SAMPLER_STACK) / 8) /* at most, with all blocks */

/* The place of the block with this number (address / SAMPLER_BLOCK). No two of a stack share one.
 */
static __inline__ __u32 sampler_block_place(__u32 group, __u64 number)
{
	return (group % SAMPLER_GROUPS) * SAMPLER_STACK_BLOCKS +
	       (__u32)(number % SAMPLER_STACK_BLOCKS);
}

/* Consecutive threads are in different groups. */
static __inline__ __u32 sampler_group(__u32 tid)
{
	return (tid * 0x9e3779b1u) >> 28;
}

/*
 * The program's part. stack->blocks, stack->group and t->now are set. Writes the blocks that the
 * reader does not know behind *stack, and adds them to the table. All variables that change from
 * round to round are in memory: the verifier knows nothing of them, so each round is one state.
 */
__attribute__((always_inline)) static __inline__ void
sampler_send_blocks(struct sampler_blocks *t, struct sampler_stack *stack, __u64 sp)
{
	struct sampler_block *out = (struct sampler_block *)(stack + 1);
	__u64 first = sp / SAMPLER_BLOCK;
	__u32 i, blocks = *(volatile __u32 *)&stack->blocks, group = stack->group;

	stack->changed[0] = 0;
	stack->changed[1] = 0;
	stack->changed[2] = 0;
	stack->changed[3] = 0;
	stack->sent = 0;
	for (i = 0; i < SAMPLER_STACK_BLOCKS; i++) {
		const struct sampler_block *now = &t->now[i];
		__u32 place = sampler_block_place(group, first + i);
		struct sampler_block *known = &t->known[place];
		__u64 address = (first + i) * SAMPLER_BLOCK, sent;

		if (i >= blocks)
			break;
		if (t->address[place] == address &&
		    !((now->word[0] ^ known->word[0]) | (now->word[1] ^ known->word[1]) |
		      (now->word[2] ^ known->word[2]) | (now->word[3] ^ known->word[3])))
			continue;
		sent = *(volatile __u64 *)&stack->sent;
		if (sent >= SAMPLER_STACK_BLOCKS)
			break;
		t->address[place] = address;
		__builtin_memcpy(known, now, sizeof(*known));
		__builtin_memcpy(&out[sent], now, sizeof(*now));
		*(volatile __u64 *)&stack->sent = sent + 1;
		stack->changed[i / 64] |= 1ULL << i % 64;
	}
}

#endif
