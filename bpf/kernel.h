/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the kernel's types that the BPF program uses, with CO-RE offsets: only the fields that
 * it reads. So the build needs no kernel headers or BTF.
 */
#ifndef PCCE_BPF_KERNEL_H
#define PCCE_BPF_KERNEL_H

#include <linux/types.h>

struct thread_struct {
	unsigned long fsbase;
} __attribute__((preserve_access_index));

typedef struct {
	int counter;
} __attribute__((preserve_access_index)) atomic_t;

struct signal_struct {
	atomic_t live;
} __attribute__((preserve_access_index));

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct pid_namespace {
	struct ns_common ns;
} __attribute__((preserve_access_index));

struct upid {
	int nr;
	struct pid_namespace *ns;
} __attribute__((preserve_access_index));

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* level + 1 of them */
} __attribute__((preserve_access_index));

struct xol_area {
	unsigned long vaddr;
} __attribute__((preserve_access_index));

struct uprobes_state {
	struct xol_area *xol_area;
} __attribute__((preserve_access_index));

struct uprobe_task {
	unsigned long vaddr;	 /* of the instruction that is executed elsewhere */
	unsigned long xol_vaddr; /* that place */
} __attribute__((preserve_access_index));

struct mm_struct {
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
} __attribute__((preserve_access_index));

typedef struct {
	unsigned int val;
} __attribute__((preserve_access_index)) kuid_t;

struct cred {
	kuid_t uid;
} __attribute__((preserve_access_index));

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	unsigned int ptrace;
	unsigned int in_iowait : 1;
	int on_cpu;
	unsigned long nvcsw, nivcsw;
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct completion *vfork_done;
	struct signal_struct *signal;
	const struct cred *cred;
	struct uprobe_task *utask;
	int *clear_child_tid;
	struct thread_struct thread;
} __attribute__((preserve_access_index));

typedef struct {
	__s64 counter;
} __attribute__((preserve_access_index)) local64_t; /* the innermost of its three layers */

struct timerqueue_node {
	__s64 expires;
} __attribute__((preserve_access_index));

struct hrtimer {
	struct timerqueue_node node;
} __attribute__((preserve_access_index));

struct hw_perf_event {
	local64_t prev_count;
	__u64 interrupts;
	struct hrtimer hrtimer;
} __attribute__((preserve_access_index));

struct perf_event_context {
	struct task_struct *task;
} __attribute__((preserve_access_index));

struct perf_event {
	struct hw_perf_event hw;
	struct perf_event_context *ctx;
} __attribute__((preserve_access_index));

struct bpf_perf_event_data_kern {
	struct perf_event *event;
} __attribute__((preserve_access_index));

/* The context of programs that iterate over threads. */
struct bpf_iter__task {
	struct task_struct *task;
} __attribute__((preserve_access_index));

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r8, si, di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
} __attribute__((preserve_access_index));

#endif
