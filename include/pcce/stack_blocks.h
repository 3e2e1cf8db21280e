/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines how a sampler in the kernel sends stacks (--frames): only the blocks whose content the
 * reader does not know. The BPF program, the kernel module and lib/sampler include this file.
 *
 * A stack is copied from sp on, up to PCCE_STACK_BYTES bytes, in blocks of PCCE_STACK_BLOCK bytes.
 * It ends at its base (pcce_stack_end()), or before a piece of PCCE_STACK_PIECE bytes that cannot
 * be read. For each ring, which is that of one CPU, the writer keeps the blocks that it has sent,
 * in a table by address. It sends a block if the table has another address or another content at
 * its place. The reader has the same table for each ring. It applies the blocks of each record, and
 * finds all others in the table.
 *
 * So both tables must always be equal. A ring has one writer at a time, its records are read in
 * their order, and a sample that has no room in the ring changes nothing. The tables know no
 * threads or processes: a block is an address and a content, whatever it belongs to. Threads that
 * take turns on a CPU mostly have places of different groups.
 *
 * A sample with PCCE_SAMPLE_COPY has, in place of the stack that abi.h describes:
 *
 *      | struct pcce_stack_registers | struct pcce_stack_changes | changed blocks ... | ...
 *
 * The changes with their blocks are a part of the stack. Parts follow each other until the sample
 * ends. All but the last one describe PCCE_STACK_PART bytes.
 */
#ifndef PCCE_STACK_BLOCKS_H
#define PCCE_STACK_BLOCKS_H

#include <pcce/abi.h>

#define PCCE_STACK_BLOCK 32u /* bytes; of 64 bytes, a tenth more is sent */
#define PCCE_STACK_BYTES (PCCE_COPY_WORDS * 8u)
#define PCCE_STACK_PART 8192u /* bytes; read at once if possible */
#define PCCE_STACK_PIECE 512u /* bytes; otherwise, each is read at once */
#define PCCE_STACK_PARTS (PCCE_STACK_BYTES / PCCE_STACK_PART)
#define PCCE_STACK_BLOCKS (PCCE_STACK_PART / PCCE_STACK_BLOCK) /* of a part */
#define PCCE_STACK_GROUPS 16u /* of threads, whose stacks have places apart */
#define PCCE_STACK_PLACES (PCCE_STACK_BYTES / PCCE_STACK_BLOCK)

struct pcce_stack_block {
	__u64 word[PCCE_STACK_BLOCK / 8];
};

/* The user's registers, which unwinding needs beside ip and sp. */
struct pcce_stack_registers {
	__u64 bx, bp, r10, r12, r13, r14, r15, di;
};

/* Takes them from an event's context in BPF or from the kernel's pt_regs: the fields have the same
 * names. */
#define PCCE_STACK_REGISTERS(from)                                                          \
	(struct pcce_stack_registers)                                                       \
	{                                                                                   \
		(from)->bx, (from)->bp, (from)->r10, (from)->r12, (from)->r13, (from)->r14, \
			(from)->r15, (from)->di                                             \
	}

/* What a part has before its changed blocks. */
struct pcce_stack_changes {
	__u64 changed[PCCE_STACK_BLOCKS / 64]; /* bit i: block i of the part follows */
	__u32 blocks;			       /* of the part; the first part's first contains sp */
	__u32 group;
	__u64 sent; /* number of blocks that follow */
};

/* The writer's table for one ring. */
struct pcce_stack_table {
	__u64 address[PCCE_STACK_PLACES]; /* of the block at a place; 0: none */
	struct pcce_stack_block known[PCCE_STACK_PLACES];
	struct pcce_stack_block now[PCCE_STACK_BLOCKS]; /* a part of the stack as it is */
};

PCCE_ASSERT_SIZE(pcce_stack_registers, PCCE_COPY_REGISTERS * 8);
PCCE_ASSERT_SIZE(pcce_stack_changes, 48);
PCCE_STATIC_ASSERT(PCCE_STACK_BLOCKS == 256, "four words have its bits");

/* At most, with all blocks. */
#define PCCE_STACK_PART_WORDS ((sizeof(struct pcce_stack_changes) + PCCE_STACK_PART) / 8)
#define PCCE_STACK_SENT_WORDS (PCCE_STACK_PARTS * PCCE_STACK_PART_WORDS)

PCCE_STATIC_ASSERT(PCCE_STACK_BYTES % PCCE_STACK_PART == 0, "the last part is smaller");

/*
 * The place of the block with this number (address / PCCE_STACK_BLOCK). No two blocks of a stack
 * share one. The first blocks of threads in different groups are mostly apart: most stacks of one
 * program begin at equal places of their mappings, and use less than a part.
 */
static __inline__ __u32 pcce_stack_place(__u32 group, __u64 number)
{
	__u32 place = group * PCCE_STACK_BLOCKS + (__u32)number;

#ifdef __bpf__
	/* The verifiers of newer 6.1 kernels lose the bounds of some sums. */
	__asm__ volatile("" : "+r"(place));
#endif
	return place % PCCE_STACK_PLACES;
}

/*
 * Returns the end of what is copied of the stack that contains sp. The stack of a process's first
 * thread ends where the kernel has put the arguments, at start_stack. The C libraries put a
 * thread's own data, to which fs points, at the end of its stack. Of other stacks the end is
 * unknown. need: the bytes that samples need. They do not matter for whole stacks whose end is
 * known.
 */
static __inline__ __u64 pcce_stack_end(__u64 sp, __u64 start_stack, __u64 fs, __u64 need, int whole)
{
	__u64 bytes = PCCE_STACK_BYTES;
	int known = 0;

	if (start_stack > sp && start_stack - sp <= bytes) {
		bytes = start_stack - sp;
		known = 1;
	}
	if (fs > sp && fs - sp <= bytes) {
		bytes = fs - sp;
		known = 1;
	}
	if (need < bytes && !(known && whole))
		bytes = need;
	return sp + bytes;
}

/* Consecutive threads are in different groups. */
static __inline__ __u32 pcce_stack_group(__u32 tid)
{
	return (tid * 0x9e3779b1u) >> 28;
}

/*
 * The writer's work on one part, which begins at the block `from`. stack->blocks, stack->group and
 * t->now are set. Writes the blocks that the reader does not know behind *stack, and adds them to
 * the table. All variables that change from round to round are in memory: BPF's verifier knows
 * nothing of them, so each round is one state.
 */
__attribute__((always_inline)) static __inline__ void
pcce_stack_send(struct pcce_stack_table *t, struct pcce_stack_changes *stack, __u64 from)
{
	struct pcce_stack_block *out = (struct pcce_stack_block *)(stack + 1);
	__u64 first = from / PCCE_STACK_BLOCK;
	__u32 i, blocks = *(volatile __u32 *)&stack->blocks, group = stack->group;

	stack->changed[0] = 0;
	stack->changed[1] = 0;
	stack->changed[2] = 0;
	stack->changed[3] = 0;
	stack->sent = 0;
	for (i = 0; i < PCCE_STACK_BLOCKS; i++) {
		const struct pcce_stack_block *now = &t->now[i];
		__u32 place = pcce_stack_place(group, first + i);
		struct pcce_stack_block *known = &t->known[place];
		__u64 address = (first + i) * PCCE_STACK_BLOCK, sent;

		if (i >= blocks)
			break;
		if (t->address[place] == address &&
		    !((now->word[0] ^ known->word[0]) | (now->word[1] ^ known->word[1]) |
		      (now->word[2] ^ known->word[2]) | (now->word[3] ^ known->word[3])))
			continue;
		sent = *(volatile __u64 *)&stack->sent;
		if (sent >= PCCE_STACK_BLOCKS)
			break;
		t->address[place] = address;
		__builtin_memcpy(known, now, sizeof(*known));
		__builtin_memcpy(&out[sent], now, sizeof(*now));
		*(volatile __u64 *)&stack->sent = sent + 1;
		stack->changed[i / 64] |= 1ULL << i % 64;
	}
}

#endif
