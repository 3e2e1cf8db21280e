/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tells which futex a thread waits for, and whether another thread ended that wait.
 *
 * Both are in the registers with which the threads entered the kernel. So no program runs at system
 * calls, which would cost each one of the whole system. That a wait ended is known by
 * sched_waking, which runs in the thread that ends it. But that may be any thread which an
 * interrupt has stopped: a timeout ends a wait, too. So it counts only if it is in an operation on
 * the same futex.
 */
#ifndef PCCE_BPF_FUTEX_H
#define PCCE_BPF_FUTEX_H

#include "bpf/take_sample.h"

/* System calls and operations, as the kernel numbers them. */
#define NR_FUTEX 202
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_REQUEUE 456
#define FUTEX_WAIT 0
#define FUTEX_WAKE_OP 5
#define FUTEX_LOCK_PI 6
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_LOCK_PI2 13
#define FUTEX_OPERATION 127 /* mask */
#define FUTEX_PRIVATE 128
#define FUTEX_OWNER_DIED 0x40000000

#define FUTEX_UNKNOWN 1 /* no address: the thread waits for several futexes */

#define PF_EXITING 4

static __always_inline struct pt_regs *registers_of(struct task_struct *task)
{
	return (struct pt_regs *)bpf_task_pt_regs(task);
}

static __always_inline int is_wait(__u64 operation)
{
	operation &= FUTEX_OPERATION;
	return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
	       operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2 ||
	       operation == FUTEX_WAIT_REQUEUE_PI;
}

/* Returns the address of the futex for which the thread waits, if it is blocked; 0: none. */
static __always_inline __u64 awaited_futex(struct task_struct *task)
{
	struct pt_regs *regs = registers_of(task);
	__u64 nr = regs->orig_ax;

	if (nr == NR_FUTEX_WAITV)
		return FUTEX_UNKNOWN;
	if (nr == NR_FUTEX_WAIT || (nr == NR_FUTEX && is_wait(regs->si)))
		return regs->di;
	return 0;
}

/* Returns whether other processes can end the wait, and nothing but an operation or a signal does:
 * there is no timeout. */
static __always_inline int is_shared_wait(struct task_struct *task)
{
	struct pt_regs *regs = registers_of(task);

	return regs->orig_ax == NR_FUTEX && !(regs->si & FUTEX_PRIVATE) && !regs->r10;
}

/* Returns whether only threads with the same memory, or signals, can end the wait. */
static __always_inline int is_ended_near(struct task_struct *task)
{
	struct pt_regs *regs = registers_of(task);

	return regs->orig_ax == NR_FUTEX && regs->si & FUTEX_PRIVATE && !regs->r10;
}

/* The thread is ending. The kernel tells threads that wait for that, or for a robust lock. */
static __always_inline int ended_by_exit(struct task_struct *by, __u64 futex)
{
	__u32 word = 0;

	if ((__u64)by->clear_child_tid == futex)
		return 1;
	return !bpf_probe_read_user(&word, sizeof(word), (const void *)futex) &&
	       word & FUTEX_OWNER_DIED;
}

/* Has the current thread ended that wait of the task by an operation? */
static __always_inline int ended_by(struct task_struct *by, struct task_struct *task,
				    const struct sampler_wait *w)
{
	struct pt_regs *regs = registers_of(by);
	__u64 nr = regs->orig_ax, futex = w->futex;

	if (by->flags & PF_EXITING)
		return by->mm == task->mm && ended_by_exit(by, futex);
	if (nr != NR_FUTEX_WAKE && nr != NR_FUTEX_REQUEUE && nr != NR_FUTEX)
		return 0;
	if (nr == NR_FUTEX && is_wait(regs->si))
		return 0;
	if (by->mm == task->mm)
		return regs->di == futex ||
		       (nr == NR_FUTEX && (regs->si & FUTEX_OPERATION) == FUTEX_WAKE_OP &&
			regs->r8 == futex);
	/* The same memory may have another address there, but not within its page. */
	return w->shared && nr == NR_FUTEX && !(regs->si & FUTEX_PRIVATE) &&
	       (regs->di & 4095) == (futex & 4095);
}

#endif
