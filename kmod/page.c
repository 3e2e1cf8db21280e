// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the current thread's page.
 *
 * One read takes the page's header and as many entries as the last sample on this CPU had, and a
 * few more. The cost of a read hardly depends on its size. A second read is needed in two cases:
 * the stack has grown a lot since then, or its current segment is in the upper half of the page.
 * segments.c reads what is below that segment.
 *
 * The memory belongs to the program. It may hold anything, and another thread may change it at any
 * moment. pcce/page_reader.h, which all samplers share, tells how what it says is checked. All
 * reads stay in the page that the thread pointer names, and in the area that the page names.
 *
 * This may run in a hard interrupt or an NMI because of copy_from_user_nofault():
 *
 *  - It refuses addresses outside user space.
 *  - It refuses to run while another address space than current's is loaded (nmi_uaccess_okay).
 *  - It disables page faults, so an absent page is an error and not a sleep.
 *  - Memory that was unmapped, protected or given back is an error, too. No page is pinned, so none
 *    can become stale.
 */
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/fsgsbase.h>
#include <asm/unistd.h>

#include "page.h"
#include "segments.h"

#define FEW 8  /* entries that most stacks have at most */
#define MORE 8 /* entries to read in addition to those of the last sample */
#define UPPER (~0u)

/* Reads the header and n entries. What is not a page must leave no trace in the ring, since others
 * can read the ring. */
static bool read_page_head(void *to, u64 page, u32 n)
{
	size_t bytes = PCCE_HEAD + n * sizeof(struct pcce_entry);

	if (pcce_read_user(to, page, bytes) && pcce_page_is_valid(to, page))
		return true;
	memset(to, 0, bytes);
	return false;
}

/* Tries all places where the page may be. 0: there is no page. */
static u64 find_task_page(const struct pcce_session *s, struct pcce_cpu *c, u64 thread_pointer)
{
	/* Pairs with the release in pcce_session_places(): n offsets are there. */
	u32 n = smp_load_acquire(&s->n_offsets), i;
	u32 magic;

	for (i = 0; i < n && i < PCCE_KMOD_OFFSETS; i++) {
		s64 offset = READ_ONCE(s->offsets[i]);

		if (pcce_read_user(&magic, thread_pointer + offset, sizeof(magic)) &&
		    magic == PCCE_PAGE_MAGIC) {
			c->offset = offset;
			c->found = true;
			return thread_pointer + offset;
		}
	}
	return 0;
}

/* Reads the current segment with its base, unless the first `have` entries of the lower half
 * suffice. */
static bool read_current_segment(void *to, const struct pcce_page_stack *stack, u32 have)
{
	if (!stack->upper && stack->n_entries <= have)
		return true;
	return pcce_read_user(to + PCCE_READER_BASE, stack->base,
			      (1 + stack->n_entries) * sizeof(struct pcce_entry));
}

/*
 * Gets the thread pointer. The register holds the current thread's while this runs: the kernel does
 * not use FS. In the middle of a context switch an NMI may find the next thread's in the register;
 * then it differs from the one saved in current. It also differs if the program has written the
 * register itself, without a system call, since it was last scheduled. If an NMI then finds the
 * program in the kernel, that sample is marked, too.
 */
static bool get_thread_pointer(u64 *out, bool in_kernel)
{
	*out = x86_fsbase_read_cpu();
	return !(in_kernel && in_nmi() && *out != current->thread.fsbase);
}

/*
 * Is the page that of a thread which the kernel has just made the main thread, in execve()? Until
 * the kernel also replaces the memory, such a thread has the main thread's number, and its own
 * page. The child of a vfork() has its parent's page rightly.
 */
static bool is_page_of_other(u32 tid)
{
	unsigned long system_call = task_pt_regs(current)->orig_ax;

	return (system_call == __NR_execve || system_call == __NR_execveat) &&
	       !current->vfork_done && task_pid_vnr(current) != tid;
}

void pcce_read_page(const struct pcce_session *s, struct pcce_cpu *c, void *to, size_t room,
		    struct pcce_reading *r)
{
	const struct pcce_page *head = to;
	struct pcce_page_stack stack;
	u32 have = FEW + MORE / 2;
	u64 base, page;

	if (!get_thread_pointer(&base, r->flags & PCCE_SAMPLE_KERNEL)) {
		r->flags |= PCCE_SAMPLE_READ_FAULT;
		return;
	}
	if (c->entries == UPPER)
		have = 0; /* two reads: first the header, then what it says */
	else if (c->entries > FEW)
		have = min_t(u32, c->entries + MORE, PCCE_SEGMENT_ENTRIES);
	page = c->found ? base + c->offset : 0;
	if (!page || !read_page_head(to, page, have)) {
		page = find_task_page(s, c, base);
		if (!page || !read_page_head(to, page, have)) {
			r->flags |= PCCE_SAMPLE_OUTSIDE;
			return;
		}
	}
	if (r->flags & PCCE_SAMPLE_KERNEL && is_page_of_other(head->tid)) {
		r->flags |= PCCE_SAMPLE_OUTSIDE;
		return;
	}
	r->has_page = true;
	r->id = head->id;
	r->ext = head->ext;
	r->labels = head->labels;
	if (pcce_page_describe(&stack, head, page) || !read_current_segment(to, &stack, have)) {
		r->flags |= PCCE_SAMPLE_READ_FAULT;
		return;
	}
	r->n_entries = stack.n_entries;
	r->n_below = stack.n_below;
	c->entries = stack.upper ? UPPER : stack.n_entries;
	if (stack.n_below) {
		stack.below = head->base.id;
		pcce_read_segments(s, c, &stack, to, room, r);
	}
}
