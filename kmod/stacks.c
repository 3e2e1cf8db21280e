// SPDX-License-Identifier: GPL-2.0
/*
 * Copies user stacks: those parts that the reader does not know.
 *
 * pcce/stack_blocks.h describes the protocol, which the BPF program has, too. Each ring has a table
 * of the blocks that were sent. It is memory of the kernel that nobody maps: a program that is
 * sampled, and the reader, cannot change what the handler believes to have sent.
 *
 * Each part of the stack is first read into the table's buffer, and not into the ring. So nothing
 * that turns out to be known already reaches the ring. Nothing beyond the stack's base is read, as
 * far as the base is known. A stack ends before a piece that cannot be read: there it really ends,
 * or a page is not in memory. page.c tells why the reads may run in an NMI.
 *
 * A table changes only after the handler has got room for a whole stack in the ring, and the record
 * is then always sent. So a sample that is dropped changes nothing, and the reader's table remains
 * equal.
 *
 * Whose stack is copied? Only current's, whose page the session may read anyway (access.c), and
 * through the same user mapping. A session that was started without CAP_PERFMON also leaves out
 * processes that are not dumpable: unlike a context, a stack may hold secrets.
 */
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#include <asm/fsgsbase.h>

#include "compat.h"
#include "stacks.h"

size_t pcce_stacks_bytes(const struct pcce_session *s)
{
	if (!(s->config.flags & PCCE_KMOD_COPY_STACKS))
		return 0;
	return PAGE_ALIGN(s->config.n_rings * sizeof(struct pcce_stack_table));
}

int pcce_stacks_make(struct pcce_session *s)
{
	struct pcce_stack_table *table;
	unsigned int cpu;

	if (!(s->config.flags & PCCE_KMOD_COPY_STACKS))
		return 0;
	table = __vmalloc(pcce_stacks_bytes(s), GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!table)
		return -ENOMEM;
	s->stacks = table;
	for_each_possible_cpu (cpu) {
		struct pcce_cpu *c = per_cpu_ptr(s->cpus, cpu);

		if (c->writer)
			c->stacks = &table[s->config.scope == PCCE_KMOD_CPU ? 0 : cpu];
	}
	return 0;
}

void pcce_stacks_free(struct pcce_session *s)
{
	vfree(s->stacks);
	s->stacks = NULL;
}

/* The rule of bpf/sampler.bpf.c, and the restriction of sessions without privilege. */
static bool may_copy_stack(const struct pcce_session *s, const struct pcce_reading *r)
{
	if (!(s->config.flags & PCCE_KMOD_COPY_STACKS))
		return false;
	if (!(s->config.flags & PCCE_KMOD_COPY_ALL) && !r->has_page)
		return false;
	return READ_ONCE(s->privileged) || pcce_is_dumpable(current);
}

/* Reads up to a part of the stack into the table's buffer. Returns the number of blocks. */
static u32 read_stack_part(struct pcce_stack_table *table, u64 from, u64 bytes)
{
	char *to = (char *)table->now;
	u32 read;

	bytes = min_t(u64, ALIGN(bytes, PCCE_STACK_BLOCK), PCCE_STACK_PART);
	if (pcce_read_user(to, from, bytes))
		return bytes / PCCE_STACK_BLOCK;
	for (read = 0; read + PCCE_STACK_PIECE <= bytes; read += PCCE_STACK_PIECE)
		if (!pcce_read_user(to + read, from + read, PCCE_STACK_PIECE))
			break;
	return read / PCCE_STACK_BLOCK;
}

/* Returns the end of what is copied of current's stack. */
static u64 stack_end(const struct pcce_cpu *c, u64 sp, bool has_page)
{
	u64 need = READ_ONCE(c->reader->stack_bytes);

	if (!IS_ALIGNED(sp, sizeof(u64)))
		return 0;
	return pcce_stack_end(sp, READ_ONCE(current->mm->start_stack), x86_fsbase_read_cpu(),
			      need ?: PCCE_STACK_BYTES, !has_page);
}

void pcce_copy_stack(const struct pcce_session *s, struct pcce_cpu *c, const struct pt_regs *regs,
		     void *to, struct pcce_reading *r)
{
	struct pcce_stack_registers *registers = to + pcce_record_size(r);
	struct pcce_stack_changes *part = (void *)(registers + 1);
	u64 from = regs->sp & -(u64)PCCE_STACK_BLOCK, end;
	u32 left = pcce_stacks_parts(&s->config), blocks;

	if (!may_copy_stack(s, r))
		return;
	*registers = PCCE_STACK_REGISTERS(regs);
	end = stack_end(c, regs->sp, r->has_page);
	do {
		blocks = end > from ? read_stack_part(c->stacks, from, end - from) : 0;
		part->blocks = blocks;
		/* The number in the initial namespace: no two threads of this machine have the
		 * same. */
		part->group = pcce_stack_group(task_pid_nr(current));
		pcce_stack_send(c->stacks, part, from);
		part = (void *)((struct pcce_stack_block *)(part + 1) + part->sent);
		from += PCCE_STACK_PART;
	} while (--left && blocks == PCCE_STACK_BLOCKS);
	r->n_stack = ((void *)part - (void *)registers) / sizeof(u64);
	r->flags |= PCCE_SAMPLE_COPY;
}
