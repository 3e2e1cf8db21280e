// SPDX-License-Identifier: GPL-2.0
/*
 * Copies user stacks: those parts that the reader does not know.
 *
 * pcce/stack_blocks.h describes the protocol, which the BPF program has, too. Each ring has a table
 * of the blocks that were sent. It is memory of the kernel that nobody maps: a program that is
 * sampled, and the reader, cannot change what the handler believes to have sent.
 *
 * The stack is first read into the table's buffer, and not into the ring. So nothing that turns out
 * to be known already reaches the ring. A stack ends before a piece that cannot be read: there it
 * really ends, or a page is not in memory. page.c tells why the reads may run in an NMI.
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

/* Reads the stack into the table's buffer. Returns the number of blocks. */
static u32 read_stack(struct pcce_stack_table *table, u64 sp)
{
	u64 from = sp & -(u64)PCCE_STACK_BLOCK;
	char *to = (char *)table->now;
	u32 bytes;

	if (!IS_ALIGNED(sp, sizeof(u64)))
		return 0;
	for (bytes = 0; bytes < PCCE_STACK_BYTES; bytes += PCCE_STACK_PIECE)
		if (!pcce_read_user(to + bytes, from + bytes, PCCE_STACK_PIECE))
			break;
	return bytes / PCCE_STACK_BLOCK;
}

void pcce_copy_stack(const struct pcce_session *s, struct pcce_cpu *c, const struct pt_regs *regs,
		     void *to, struct pcce_reading *r)
{
	struct pcce_stack_registers *registers = to + pcce_record_size(r);
	struct pcce_stack_changes *changes = (void *)(registers + 1);

	if (!may_copy_stack(s, r))
		return;
	*registers = PCCE_STACK_REGISTERS(regs);
	changes->blocks = read_stack(c->stacks, regs->sp);
	/* The number in the initial namespace: no two threads of this machine have the same. */
	changes->group = pcce_stack_group(task_pid_nr(current));
	pcce_stack_send(c->stacks, changes, regs->sp);
	r->n_stack = (sizeof(*registers) + sizeof(*changes) + changes->sent * PCCE_STACK_BLOCK) /
		     sizeof(u64);
	r->flags |= PCCE_SAMPLE_COPY;
}
