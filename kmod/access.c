// SPDX-License-Identifier: GPL-2.0
/*
 * Decides who may sample what.
 *
 * With CAP_PERFMON a process may sample everything, as with perf. Without it the process may sample
 * nothing, unless the administrator has set the parameter `unprivileged`. Then it may sample its
 * own threads, a child that it has forked and that has not done an exec yet, and what these create.
 * It may sample only user space, on hardware and software events.
 *
 * This is what perf allows at perf_event_paranoid = 2, except for other processes of the same user.
 * ptrace_may_access() and the security modules decide whether one process may look into another,
 * and that function is not exported. So the module permits less, and does not guess.
 *
 * Later events need no check here. When a task executes a program that its user may not look into
 * (set-uid), the kernel removes its events (perf_event_exit_task in begin_new_exec). Children
 * inherit nothing then.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "session.h"

static bool unprivileged;
module_param(unprivileged, bool, 0644);
MODULE_PARM_DESC(
	unprivileged,
	"Let processes without CAP_PERFMON sample themselves and their children (default: N)");

/* Both run with the same rights, and it is allowed to look into the second one. */
static bool same_rights(struct task_struct *task)
{
	const struct cred *a = current_cred(), *b;
	bool same;

	rcu_read_lock();
	b = __task_cred(task);
	same = a->user_ns == b->user_ns && uid_eq(a->euid, b->uid) && uid_eq(a->euid, b->euid) &&
	       uid_eq(a->euid, b->suid) && gid_eq(a->egid, b->gid) && gid_eq(a->egid, b->egid) &&
	       gid_eq(a->egid, b->sgid) && cap_issubset(b->cap_permitted, a->cap_permitted);
	rcu_read_unlock();
	/* mm does not change, since exec_update_lock is held; task_lock protects it against the
	 * task's end. */
	task_lock(task);
	same = same && task->mm && pcce_is_dumpable(task);
	task_unlock(task);
	return same;
}

int pcce_may_sample_task(struct task_struct *task)
{
	bool child;

	if (perfmon_capable())
		return 0;
	if (!unprivileged)
		return -EPERM;
	if (same_thread_group(task, current))
		return 0;
	rcu_read_lock();
	child = (task->flags & PF_FORKNOEXEC) &&
		same_thread_group(rcu_dereference(task->real_parent), current);
	rcu_read_unlock();
	return child && same_rights(task) ? 0 : -EPERM;
}

int pcce_may_sample(const struct pcce_kmod_setup *config)
{
	if (perfmon_capable())
		return 0;
	if (!unprivileged)
		return -EPERM;
	if (config->scope != PCCE_KMOD_TASK && config->scope != PCCE_KMOD_PROCESS)
		return -EPERM;
	if (!(config->flags & PCCE_KMOD_EXCLUDE_KERNEL))
		return -EPERM;
	if (config->type != PERF_TYPE_SOFTWARE && config->type != PERF_TYPE_HARDWARE &&
	    config->type != PERF_TYPE_HW_CACHE)
		return -EPERM;
	return 0;
}
