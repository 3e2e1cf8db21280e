/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The BPF programs of the sampler: for perf events, tracepoints, probes and waits, and those
 * that follow processes. take_sample.h takes the samples.
 *
 * The program may run in an NMI (hardware events). It creates no map entries there, and takes no
 * lock. The kernel's bpf_prog_active ensures that it does not run twice at once on a CPU, for perf
 * events as for tracepoints and probes in the kernel. So the ring has one writer. Nothing ensures
 * it for waits and for probes in user code: then sample_thread() does.
 *
 * If a program runs already, the kernel leaves the event out. For tracepoints it counts these, see
 * lib/sampler/bpf.c. Newer kernels (7.2) can preempt a program on a system call's tracepoint. Until
 * it continues, the kernel leaves out all such events on that CPU. bpf_preempt_disable() does not
 * help: the preemption then comes at the end of the program, which still counts as running.
 *
 * A program on a tracepoint or a probe runs for every task in the system. So it looks its process
 * up in a map. Programs on fork, exec and exit maintain the map; these never run in an NMI.
 */
#include "bpf/locks.h"
#include "bpf/take_sample.h"
#include "bpf/waits.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("perf_event")
int on_event(struct event_context *event)
{
	if (system_wide && !is_selected(bpf_get_current_task_btf()))
		return 0;
	return sample_thread(event, event, NULL);
}

/* Samples the current thread if its process is followed. */
static __always_inline int sample_followed(void *ctx, struct event_context *event)
{
	struct sampler_process *p = find_followed_process(bpf_get_current_task_btf());
	__u32 cpu = bpf_get_smp_processor_id();
	struct sampler_control *control;

	if (p && p->armed)
		return sample_thread(ctx, event, NULL);
	control = bpf_map_lookup_elem(&controls, &cpu);
	if (control)
		counts_of(control)->others++;
	return 0;
}

SEC("tracepoint")
int on_tracepoint(void *args)
{
	return sample_followed(args, NULL);
}

/* Linux 6.11 and later; without it, another program can come in between, whose sample is lost. */
extern void bpf_preempt_disable(void) __ksym __weak;
extern void bpf_preempt_enable(void) __ksym __weak;

/* The context has the registers at the probe: those of user code for uprobes. */
SEC("kprobe")
int on_probe(struct event_context *registers)
{
	int result;

	if (can_stay)
		bpf_preempt_disable();
	result = sample_followed(registers, registers);
	if (can_stay)
		bpf_preempt_enable();
	return result;
}

SEC("tp_btf/sched_process_fork")
int on_fork(__u64 *args)
{
	struct task_struct *parent = (struct task_struct *)args[0],
			   *child = (struct task_struct *)args[1];
	__u32 to = child->tgid;
	struct sampler_process *p;

	if (parent->tgid == to)
		return 0;
	p = find_followed_process(parent);
	if (p) {
		struct sampler_process copy = *p;

		follow(to, &copy);
	} else {
		bpf_map_delete_elem(&processes, &to);
	}
	return 0;
}

SEC("tp_btf/sched_process_exec")
int on_exec(__u64 *args)
{
	struct task_struct *task = (struct task_struct *)args[0];
	struct sampler_process *p = find_followed_process(task);
	__u32 before = (__u32)args[1];

	if (p)
		p->armed = 1;
	/* The thread may have become the main thread: its old number is free. */
	if (task && before != (__u32)task->pid)
		leave_place(before);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *args)
{
	struct task_struct *task = (struct task_struct *)args[0];
	__u32 tgid = task->tgid;

	if (!task->signal->live.counter)
		bpf_map_delete_elem(&processes, &tgid);
	return 0;
}
