/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Samples the time that threads wait for futexes, with the contexts of those who let them go on:
 * locks, condition variables, semaphores, barriers, ends of threads.
 *
 *  - When a thread goes to sleep in an operation on a futex, on_lock_switch() notes the time.
 *  - When another thread wakes it up, on_waking() runs in that thread, and counts the ticks of the
 *    sleeper's clock (waits.h). Only if there is one, it samples the thread in which it runs, and
 *    notes the thread page of the sleeper, which does not change meanwhile. So both contexts are
 *    exact, and a wait without a tick costs no read of a page.
 *  - When the sleeper has a CPU again, on_lock_switch() takes its sample, which says which sample
 *    the other one is.
 *
 * If the sleeper may be woken up where its memory cannot be read, by a timer or by another process,
 * its page is noted when it goes to sleep. A signal may do so, too: the recorder lets on_begin()
 * note the pages of all that have waited for long, now and then and when the recording ends.
 */
#ifndef PCCE_BPF_LOCKS_H
#define PCCE_BPF_LOCKS_H

#include "bpf/waits.h"

/* Notes what a sample needs of a sleeping thread, if its memory is that of the current one. */
static __always_inline void note_sleeper(void *ctx, struct task_struct *task,
					 struct sampler_wait *w)
{
	if (!w->noted && bpf_get_current_task_btf()->mm == task->mm) {
		note_context(ctx, task, w);
		w->noted = 1;
	}
}

static __always_inline void begin_lock(void *ctx, struct task_struct *task, struct sampler_wait *w,
				       __u64 futex)
{
	w->futex = futex;
	w->shared = is_shared_wait(task);
	w->reason = PCCE_WAIT_BLOCKED;
	w->woken = w->page = w->noted = 0;
	w->switches = count_switches(task);
	barrier();
	w->since = bpf_ktime_get_ns(); /* on_waking() may run from now on */
	if (!is_ended_near(task))
		note_sleeper(ctx, task, w);
}

/* The wait for a futex ends, or the recording does. If on_waking() has not seen the wake-up, that
 * came before the thread had left its CPU: the time since then is none of the wait. */
static __always_inline void end_lock(void *ctx, struct task_struct *task, struct sampler_wait *w,
				     int last)
{
	struct sampler_wait *found_before;

	if (!w || !w->since || w->switches != count_switches(task))
		return;
	if (!w->woken && !last) {
		w->since = 0;
		return;
	}
	if (!w->woken) {
		w->end.ns = bpf_ktime_get_ns() - w->since;
		w->end.time = w->end.tid = 0;
		w->end.end = PCCE_ENDED_NEVER;
		w->ticks = wait_ticks(w, w->end.ns);
	}
	w->since = 0;
	if (!w->ticks)
		return;
	note_sleeper(ctx, task, w);
	if (!w->noted) {
		found_before = find_waiting(task);
		if (found_before && found_before->switches == w->switches) {
			found_before->end = w->end;
			sample_wait(ctx, task, found_before, w->ticks, w->reason);
			return;
		}
	}
	sample_wait(ctx, task, w, w->ticks, w->reason);
}

SEC("tp_btf/sched_switch")
int on_lock_switch(__u64 *args)
{
	struct task_struct *prev = (struct task_struct *)args[1],
			   *next = (struct task_struct *)args[2];
	struct sampler_wait *ends = find_wait(next->pid), *begins;
	__u32 state = task_state(prev);
	__u64 futex;

	end_lock(args, next, ends ? ends : find_waiting(next), 0);
	if (state & TASK_DEAD) {
		leave_place(prev->pid);
		return 0;
	}
	futex = awaited_futex(prev);
	/* A thread that is woken up while it still leaves its CPU has another state. */
	if (!futex || args[0] & 1 || !(state & TASK_INTERRUPTIBLE))
		return 0;
	begins = find_wait(prev->pid);
	if (!begins)
		begins = new_wait(prev);
	if (begins)
		begin_lock(args, prev, begins, futex);
	return 0;
}

/* Takes a sample of the current thread, which has ended the wait. */
static __noinline int sample_holder(void *ctx, struct task_struct *by, struct sampler_wait *w)
{
	struct sampler_moment moment = {.task = by, .holder = 1};
	__u32 cpu = bpf_get_smp_processor_id(), pid = 0, tid = 0;
	struct sampler_control *control = bpf_map_lookup_elem(&controls, &cpu);
	struct sampler_process *p = find_waiting_process(by);

	if (!w || !control)
		return 0;
	w->end.end = PCCE_ENDED_OUTSIDE;
	if (!p || !p->armed)
		return 0;
	identify_thread(by, 0, &pid, &tid);
	if (!pid)
		return 0;
	moment.weight = w->ticks > 0xffffffff ? 0xffffffff : (__u32)w->ticks;
	moment.time = w->end.time;
	w->end.tid = tid;
	w->end.end = PCCE_ENDED_BY_HOLDER;
	control->of[(event_number + 1) % SAMPLER_EVENTS].ticks += moment.weight;
	return sample_thread(ctx, NULL, &moment);
}

/* The current thread wakes up another one. */
SEC("tp_btf/sched_waking")
int on_waking(__u64 *args)
{
	struct task_struct *task = (struct task_struct *)args[0], *by;
	struct sampler_wait *w = find_wait(task->pid);

	if (!w)
		w = find_waiting(task);
	if (!w || !w->since || w->woken)
		return 0;
	w->woken = bpf_ktime_get_ns();
	w->end.ns = w->woken - w->since;
	w->end.time = w->woken;
	w->end.end = PCCE_ENDED_ALONE;
	w->ticks = wait_ticks(w, w->end.ns);
	if (!w->ticks)
		return 0;
	by = bpf_get_current_task_btf();
	note_sleeper(args, task, w);
	if (holders && by->pid && !(by->flags & PF_KTHREAD) && ended_by(by, task, w))
		sample_holder(args, by, w);
	return 0;
}

/* The recording ends, and the other programs do not run any more: samples threads that still
 * wait. */
SEC("iter/task")
int on_lock_end(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sampler_wait *w;

	if (!task || task->on_cpu)
		return 0;
	w = find_wait(task->pid);
	end_lock(ctx, task, w ? w : find_waiting(task), 1);
	return 0;
}

#endif
