/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tells which threads are recorded, and the numbers that the recorder has for them.
 *
 * Events of perf for a thread need none of that: the kernel runs the program for recorded threads
 * only. Those for a CPU, tracepoints and waits run it for all threads.
 */
#ifndef PCCE_BPF_PROCESSES_H
#define PCCE_BPF_PROCESSES_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "bpf/kernel.h"
#include "bpf/sampler.h"

/* The recorder sets these before loading. */
const volatile __u64 pidns_dev, pidns_ino; /* the recorder's pid namespace; 0: the initial one */

/* The whole system is recorded, or of it only threads of a user, and in a cgroup if it is not 0. */
const volatile __u32 system_wide, of_user, user;
const volatile __u64 cgroup;

/* The recorder sets it at any time.
 * For tracepoints in a pid namespace: the process to follow, by the recorder's number. */
__u32 wanted, wanted_armed;
/* By the lower bits of the kernel's number of a process: 0: no such process is followed. */
__u8 maybe_followed[SAMPLER_MAYBE];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SAMPLER_PROCESSES);
	__type(key, __u32);
	__type(value, struct sampler_process);
} processes SEC(".maps");

#define NAMESPACES 33 /* 1 + the kernel's MAX_PID_NS_LEVEL */

/* Returns the recorder's number of a thread in a pid namespace below the recorder's. address: that
 * of its struct pid. Not static, as copy_stack_part() in take_sample.h. */
__noinline __u32 recorder_pid(__u64 address)
{
	struct pid *pid = (struct pid *)address;
	__u32 i, level;
	__u64 upids;

	if (!pid)
		return 0;
	level = BPF_CORE_READ(pid, level);
	upids = (__u64)__builtin_preserve_access_index(&pid->numbers[0]);
	for (i = 0; i < NAMESPACES && i <= level; i++) {
		struct upid *u = (struct upid *)(upids + i * bpf_core_type_size(struct upid));

		if (BPF_CORE_READ(u, ns, ns.inum) == (__u32)pidns_ino)
			return BPF_CORE_READ(u, nr);
	}
	return 0;
}

/* Return the recorder's number of the task's process, and of the task. They have stacks of their
 * own since fill_sample() has little room left in older kernels. */
static __noinline __u32 recorder_tgid(struct task_struct *task)
{
	return recorder_pid((__u64)BPF_CORE_READ(task, group_leader, thread_pid));
}

static __noinline __u32 recorder_tid(struct task_struct *task)
{
	return recorder_pid((__u64)BPF_CORE_READ(task, thread_pid));
}

static __always_inline void identify_thread(struct task_struct *task, int other, __u32 *pid,
					    __u32 *tid)
{
	if (pidns_ino) {
		struct bpf_pidns_info ns = {};

		if (other || bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &ns, sizeof(ns))) {
			ns.tgid = recorder_tgid(task);
			ns.pid = recorder_tid(task);
		}
		*pid = ns.tgid;
		*tid = ns.pid;
		return;
	}
	*pid = task->tgid;
	*tid = task->pid;
}

struct sampler_process everyone = {.armed = 1}; /* if the whole system is recorded */

#define CGROUP_LEVELS 32

/* Is the current thread in the cgroup, or in one below it? */
static __noinline int is_in_cgroup(void)
{
	int level;

	for (level = 0; level < CGROUP_LEVELS; level++) {
		__u64 id = bpf_get_current_ancestor_cgroup_id(level);

		if (!id || id == cgroup)
			return id != 0;
	}
	return 0;
}

/* In a recording of the whole system: is it of this thread? The idle thread of a CPU has number 0.
 * With a cgroup, the thread must be the current one. */
static __noinline int is_selected(struct task_struct *task)
{
	if (!task || !task->pid)
		return 0;
	if (of_user && BPF_CORE_READ(task, cred, uid.val) != user)
		return 0;
	return !cgroup || is_in_cgroup();
}

static __always_inline void follow(__u32 tgid, const struct sampler_process *p)
{
	maybe_followed[tgid % SAMPLER_MAYBE] = 1;
	bpf_map_update_elem(&processes, &tgid, p, BPF_ANY);
}

static __always_inline struct sampler_process *find_followed_process(struct task_struct *task)
{
	struct sampler_process fresh = {.armed = wanted_armed}, *p;
	/* Read once: another CPU clears it. */
	__u32 first = *(volatile __u32 *)&wanted, tgid;

	if (!task)
		return NULL;
	if (system_wide)
		return is_selected(task) ? &everyone : NULL;
	tgid = task->tgid;
	if (!first && !maybe_followed[tgid % SAMPLER_MAYBE])
		return NULL;
	p = bpf_map_lookup_elem(&processes, &tgid);
	if (p || !first || recorder_tgid(task) != first)
		return p;
	follow(tgid, &fresh);
	wanted = 0;
	return bpf_map_lookup_elem(&processes, &tgid);
}

#endif
