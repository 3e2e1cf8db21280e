// SPDX-License-Identifier: GPL-2.0
/*
 * Allocates the rings, maps them for user space, and gives the handler room in them.
 *
 * There is one ring for each CPU, all in one piece of vmalloc memory:
 *
 *      | readers | writers | data of ring 0 | data of ring 1 | ...
 *
 * The handler on that CPU is the only writer; user space is the only reader. The writer never
 * waits: without room it drops the sample and counts it. User space can write only to the readers.
 * Nothing in the kernel trusts what is read there.
 *
 * Each ring has room for one record beyond its end, so no record is ever split.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "kernel_stack.h"
#include "labels.h"
#include "reading.h"
#include "ring.h"
#include "segments.h"
#include "stacks.h"

#define MEMORY_MAX SZ_1G /* of a session */

/* What a record has room for, beside PCCE_KMOD_RECORD_MAX. */
static u32 room_for_stacks(const struct pcce_kmod_setup *config)
{
	return pcce_stacks_room(config) + pcce_kernel_stack_room(config) + pcce_labels_room(config);
}

static void lay_out_memory(struct pcce_kmod_setup *config)
{
	config->n_rings = config->scope == PCCE_KMOD_CPU ? 1 : nr_cpu_ids;
	config->reader_offset = 0;
	config->reader_bytes = PAGE_ALIGN(config->n_rings * sizeof(struct pcce_kmod_reader));
	config->writer_offset = config->reader_bytes;
	config->writer_bytes = PAGE_ALIGN(config->n_rings * sizeof(struct pcce_kmod_writer));
	config->data_offset = config->writer_offset + config->writer_bytes;
	config->data_stride =
		PAGE_ALIGN(config->ring_bytes + PCCE_KMOD_RECORD_MAX + room_for_stacks(config));
}

/* Locked memory is limited for processes without the right to lock any amount. All that a session
 * allocates by its size counts, not only what can be mapped. */
static int charge_memory(struct pcce_session *s)
{
	u64 bytes = s->memory_bytes + pcce_segments_bytes() + pcce_stacks_bytes(s) +
		    PAGE_ALIGN(num_possible_cpus() * sizeof(struct pcce_cpu));
	int err;

	s->charged_pages = bytes >> PAGE_SHIFT;
	err = account_locked_vm(current->mm, s->charged_pages, true);
	if (err)
		return err;
	s->charged = current->mm;
	mmgrab(s->charged);
	return 0;
}

static void uncharge_memory(struct pcce_session *s)
{
	if (!s->charged)
		return;
	account_locked_vm(s->charged, s->charged_pages, false);
	mmdrop(s->charged);
	s->charged = NULL;
}

/* The handler queues this irq_work. It cannot wake the reader itself: that would take locks of the
 * scheduler, which the interrupted code may hold. */
static void wake_reader(struct irq_work *work)
{
	struct pcce_cpu *c = container_of(work, struct pcce_cpu, wake);

	wake_up_interruptible(&c->session->wait);
}

static void hand_out_rings(struct pcce_session *s, char *memory)
{
	const struct pcce_kmod_setup *config = &s->config;
	struct pcce_kmod_reader *readers = (void *)memory + config->reader_offset;
	struct pcce_kmod_writer *writers = (void *)memory + config->writer_offset;
	unsigned int cpu;

	for_each_possible_cpu (cpu) {
		struct pcce_cpu *c = per_cpu_ptr(s->cpus, cpu);
		u32 ring = config->scope == PCCE_KMOD_CPU ? 0 : cpu;

		c->session = s;
		init_irq_work(&c->wake, wake_reader);
		if (config->scope == PCCE_KMOD_CPU && cpu != config->cpu)
			continue;
		c->reader = &readers[ring];
		c->writer = &writers[ring];
		c->data = memory + config->data_offset + ring * config->data_stride;
	}
}

int pcce_rings_make(struct pcce_session *s)
{
	struct pcce_kmod_setup *config = &s->config;
	char *memory;
	u64 bytes;
	int err;

	lay_out_memory(config);
	bytes = config->data_offset + config->n_rings * config->data_stride;
	if (bytes > MEMORY_MAX)
		return -ENOMEM;
	s->memory_bytes = bytes;
	err = charge_memory(s);
	if (err)
		return err;
	err = -ENOMEM;
	s->cpus = alloc_percpu_gfp(struct pcce_cpu, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	memory = __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!s->cpus || !memory)
		goto fail;
	hand_out_rings(s, memory);
	err = pcce_segments_make(s);
	if (!err)
		err = pcce_stacks_make(s);
	if (err)
		goto fail;
	/* Pairs with the acquires in pcce_rings_map() and pcce_rings_ready(): a reader that sees
	 * memory also sees config and cpus. */
	smp_store_release(&s->memory, memory);
	return 0;
fail:
	pcce_stacks_free(s);
	pcce_segments_free(s);
	vfree(memory);
	free_percpu(s->cpus);
	s->cpus = NULL;
	uncharge_memory(s);
	return err;
}

void pcce_rings_free(struct pcce_session *s)
{
	unsigned int cpu;

	if (!s->memory)
		return;
	for_each_possible_cpu (cpu)
		irq_work_sync(&per_cpu_ptr(s->cpus, cpu)->wake);
	pcce_stacks_free(s);
	pcce_segments_free(s);
	vfree(s->memory);
	free_percpu(s->cpus);
	s->memory = NULL;
	s->cpus = NULL;
	uncharge_memory(s);
}

/* ---- user space's view ----------------------------------------------------------- */

static vm_fault_t fault_in_page(struct vm_fault *vmf)
{
	struct pcce_session *s = vmf->vma->vm_file->private_data;
	u64 at = (u64)vmf->pgoff << PAGE_SHIFT;

	/* pcce_rings_map() has checked the range, but mremap() can ask for more than was mapped. */
	if (at >= s->memory_bytes)
		return VM_FAULT_SIGBUS;
	vmf->page = vmalloc_to_page(s->memory + at);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct vm_ops = {.fault = fault_in_page};

int pcce_rings_map(struct pcce_session *s, struct vm_area_struct *vma)
{
	u64 from = (u64)vma->vm_pgoff << PAGE_SHIFT, bytes = vma->vm_end - vma->vm_start;

	if (!smp_load_acquire(&s->memory))
		return -ENXIO;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_pgoff > s->memory_bytes >> PAGE_SHIFT || bytes > s->memory_bytes - from)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (from + bytes > s->config.reader_bytes) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		vm_flags_mod(vma, 0, VM_MAYWRITE);
	}
	/* Neither a child nor a core file has a use for it, and it does not grow. */
	vm_flags_mod(vma, VM_DONTCOPY | VM_DONTDUMP | VM_DONTEXPAND, VM_MAYEXEC);
	vma->vm_ops = &vm_ops;
	return 0;
}

bool pcce_rings_ready(const struct pcce_session *s)
{
	unsigned int cpu;

	if (!smp_load_acquire(&s->memory))
		return false;
	for_each_possible_cpu (cpu) {
		const struct pcce_cpu *c = per_cpu_ptr(s->cpus, cpu);

		if (!c->writer)
			continue;
		if (READ_ONCE(c->head) - READ_ONCE(c->reader->tail) >= s->config.watermark)
			return true;
	}
	return false;
}

/* ---- the handler's view ----------------------------------------------------------- */

void *pcce_ring_reserve(struct pcce_session *s, struct pcce_cpu *c, size_t *room)
{
	/* Pairs with the reader's release of tail: from here on, what it has read may be
	 * overwritten. */
	u64 tail = smp_load_acquire(&c->reader->tail), used = c->head - tail;
	/* Whatever becomes of the sample, a whole stack has room. */
	u32 bytes = s->config.ring_bytes - room_for_stacks(&s->config);

	if (used > bytes - PCCE_SHORT) {
		c->dropped[PCCE_KMOD_DROP_FULL]++;
		return NULL;
	}
	*room = min_t(size_t, bytes - used, PCCE_KMOD_RECORD_MAX);
	return c->data + (c->head & (s->config.ring_bytes - 1));
}

void pcce_ring_commit(struct pcce_session *s, struct pcce_cpu *c, u32 size)
{
	u64 before = c->head, at = before & (s->config.ring_bytes - 1),
	    tail = READ_ONCE(c->reader->tail);
	u64 after = at + size >= s->config.ring_bytes ? before - at + s->config.ring_bytes
						      : before + size;

	WRITE_ONCE(c->head, after);
	/* Pairs with the reader's acquire of head: the record is complete. */
	smp_store_release(&c->writer->head, after);
	c->samples++;
	/* Wakes the reader once for each time that the watermark is passed. */
	if (after - tail >= s->config.watermark && before - tail < s->config.watermark)
		irq_work_queue(&c->wake);
}
