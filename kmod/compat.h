/* SPDX-License-Identifier: GPL-2.0 */
/* Hides all differences between kernel versions, 6.1 and later. No other file tests the version. */
#ifndef PCCE_COMPAT_H
#define PCCE_COMPAT_H

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>
#include <linux/version.h>

/*
 * Before 6.1.26, copy_from_user_nofault() to vmalloc memory could take a lock (vmap_area_lock, in
 * the checks of hardened user copies): a deadlock in an interrupt.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 26)
#error "cannot build pcce_sampler: this kernel is older than 6.1.26; use Linux 6.1.26 or later"
#endif

/* Threads that share a program's memory but never run its code: their registers have no meaning. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
#define PCCE_NO_USER (PF_KTHREAD | PF_USER_WORKER | PF_IO_WORKER)
#else
#define PCCE_NO_USER (PF_KTHREAD | PF_IO_WORKER)
#endif

/* Newer kernels forbid to write vm_flags directly. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline void vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
}
#endif

/*
 * Tells whether other processes of its user may look into a task. The task has an mm, and is
 * current, or the caller holds task_lock(). An NMI may call it, too. The flag belongs to the mm, in
 * newer kernels (7.2) to the task's state since its last exec. These export no function for it, and
 * have no macro of this name.
 */
#ifdef SUID_DUMP_USER
static inline bool pcce_is_dumpable(const struct task_struct *task)
{
	return get_dumpable(task->mm) == SUID_DUMP_USER;
}
#else
#include <linux/sched/exec_state.h>
static inline bool pcce_is_dumpable(const struct task_struct *task)
{
	const struct task_exec_state *state;
	bool dumpable;

	rcu_read_lock();
	state = rcu_dereference(task->exec_state);
	dumpable = state && READ_ONCE(state->dumpable) == TASK_DUMPABLE_OWNER;
	rcu_read_unlock();
	return dumpable;
}
#endif

/* The value of hw.interrupts when kernel/events/core.c throttles an event; no header has it. */
#define PCCE_MAX_INTERRUPTS (~0ULL)

#endif
