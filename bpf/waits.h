/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Samples the time that threads spend off a CPU: blocked, or runnable without a CPU.
 *
 * It is a clock for each thread that ticks only while the thread has no CPU. The time of a thread
 * is divided into periods, and each one has one tick at a random place. So waits are sampled in
 * proportion to their length, whatever their pattern, and the ticks of a thread are its time off
 * CPUs, to a period. A long wait is one sample whose weight is its ticks.
 *
 *  - When a thread leaves a CPU, on_switch() notes the time, why, and its thread page: later, the
 *    memory of another process may be there. What cannot be noted are segments that no sample has
 *    carried. Then a sample without weight carries them at once.
 *  - When it wakes up, on_wakeup() notes the time: from then on, it is runnable.
 *  - When it has a CPU again, on_switch() counts the ticks. Only if there is one, it takes a sample
 *    of the page that was noted, and of the kernel's stack, which is still that of the wait.
 *
 * When the recording ends, on_end() does the same for all threads that still wait. When it begins,
 * on_begin() notes what on_switch() would have noted of the threads that wait. The recorder itself
 * reads their segments.
 */
#ifndef PCCE_BPF_WAITS_H
#define PCCE_BPF_WAITS_H

#include "bpf/futex.h"
#include "bpf/take_sample.h"

/* The recorder sets it before loading. */
const volatile __u64 wait_period; /* ns between two ticks */

const volatile __u32 wait_sets = 1; /* a power of 2 */

/* Which thread has which place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the recorder sets it: wait_sets */
	__type(key, __u32);
	__type(value, struct sampler_set);
} sets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the recorder sets it: wait_sets * SAMPLER_PLACES */
	__type(key, __u32);
	__type(value, struct sampler_wait);
} waits SEC(".maps");

/* What on_begin() found, by threads. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* the recorder sets it */
	__type(key, __u32);
	__type(value, struct sampler_wait);
} waiting SEC(".maps");

struct sampler_wait found; /* too large for the stack of on_begin() */

/* States of a task, as the kernel defines them in sched.h. */
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_STOPPED_OR_TRACED 12
#define TASK_DEAD 128

/* Before Linux 5.14. */
struct task_struct___old {
	long state;
} __attribute__((preserve_access_index));

static __always_inline __u32 task_state(struct task_struct *task)
{
	struct task_struct___old *old = (void *)task;

	return bpf_core_field_exists(task->__state) ? task->__state : (__u32)old->state;
}

/* Tells why a task leaves its CPU. Another CPU may be waking it up already. */
static __always_inline __u32 wait_reason(struct task_struct *task, __u32 state, int preempted)
{
	if (preempted || !state)
		return PCCE_WAIT_PREEMPTED;
	if (state & TASK_STOPPED_OR_TRACED)
		return PCCE_WAIT_STOPPED;
	if (BPF_CORE_READ_BITFIELD(task, in_iowait))
		return PCCE_WAIT_IO;
	return state & TASK_UNINTERRUPTIBLE ? PCCE_WAIT_UNINTERRUPTIBLE : PCCE_WAIT_BLOCKED;
}

static __always_inline __u64 random_tick(void)
{
	__u64 high = wait_period >> 32 ? (__u64)bpf_get_prandom_u32() << 32 : 0;

	return wait_period ? (high | bpf_get_prandom_u32()) % wait_period : 0;
}

/* Returns the number of the thread's place in its set, which is SAMPLER_PLACES if it has none. */
static __always_inline __u32 place_in(const struct sampler_set *set, __u32 tid)
{
	__u32 i;

#pragma unroll
	for (i = 0; i < SAMPLER_PLACES; i++)
		if (set->tid[i] == tid)
			break;
	return i;
}

/* Takes a free place for a thread that has none. Another CPU may take one for another thread. */
static __always_inline __u32 take_place(struct sampler_set *set, __u32 tid)
{
	__u32 i;

#pragma unroll
	for (i = 0; i < SAMPLER_PLACES; i++)
		if (!set->tid[i] && !__sync_val_compare_and_swap(&set->tid[i], 0, (__u64)tid))
			break;
	return i;
}

static __noinline int leave_place(__u32 tid)
{
	__u32 index = tid & (wait_sets - 1), i;
	struct sampler_set *set = bpf_map_lookup_elem(&sets, &index);

	if (!set)
		return 0;
#pragma unroll
	for (i = 0; i < SAMPLER_PLACES; i++)
		if (set->tid[i] == tid)
			set->tid[i] = 0;
	return 0;
}

#define PF_KTHREAD 0x00200000

/* Threads of the kernel wait nearly all the time, and nobody's program waits for them. */
static __always_inline struct sampler_process *find_waiting_process(struct task_struct *task)
{
	if (system_wide && task->flags & PF_KTHREAD)
		return NULL;
	return find_followed_process(task);
}

/* Returns what is known of the waits of a thread; else NULL. */
static __always_inline struct sampler_wait *find_wait(__u32 tid)
{
	__u32 index = tid & (wait_sets - 1), place;
	struct sampler_set *set = bpf_map_lookup_elem(&sets, &index);

	if (!set || !tid) /* 0: nothing runs */
		return NULL;
	place = place_in(set, tid);
	index = index * SAMPLER_PLACES + place;
	return place < SAMPLER_PLACES ? bpf_map_lookup_elem(&waits, &index) : NULL;
}

/* Returns what on_begin() has found of a thread that has no place; else NULL. */
static __always_inline struct sampler_wait *find_waiting(struct task_struct *task)
{
	__u32 tid = task->pid;

	return find_waiting_process(task) ? bpf_map_lookup_elem(&waiting, &tid) : NULL;
}

static __always_inline void count_crowded(void)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct sampler_control *control = bpf_map_lookup_elem(&controls, &cpu);

	if (control)
		counts_of(control)->crowded++;
}

/* Returns a place for a thread that has none, if it is followed. */
static __noinline struct sampler_wait *new_wait(struct task_struct *task)
{
	__u32 tid = task->pid, index = tid & (wait_sets - 1), place;
	struct sampler_process *p = tid ? find_waiting_process(task) : NULL;
	struct sampler_set *set;
	struct sampler_wait *w;

	if (!p || !p->armed)
		return NULL;
	set = bpf_map_lookup_elem(&sets, &index);
	if (!set)
		return NULL;
	place = take_place(set, tid);
	if (place == SAMPLER_PLACES) {
		count_crowded();
		return NULL;
	}
	index = index * SAMPLER_PLACES + place;
	w = bpf_map_lookup_elem(&waits, &index);
	if (!w)
		return NULL;
	w->since = w->woken = w->now = w->switches = 0;
	w->ticked = 0;
	w->reason = PCCE_WAIT_BLOCKED;
	w->tick = random_tick();
	return w;
}

/* Lets the thread's clock run for that many ns. Returns the number of ticks. */
static __always_inline __u64 wait_ticks(struct sampler_wait *w, __u64 ns)
{
	__u64 end = w->now + ns, ticks = 0;

	if (!wait_period)
		return 0;
	if (end >= wait_period) {
		/* Each period that is over had its tick, the first one perhaps before. */
		ticks = end / wait_period - (w->ticked ? 1 : 0);
		end %= wait_period;
		w->tick = random_tick();
		w->ticked = 0;
	}
	w->now = end;
	if (!w->ticked && end >= w->tick) {
		w->ticked = 1;
		ticks++;
	}
	return ticks;
}

/* Takes a sample that represents a number of ticks, at the end of a wait. */
static __noinline int sample_wait(void *ctx, struct task_struct *task, const struct sampler_wait *w,
				  __u64 ticks, __u32 reason)
{
	const struct sampler_moment moment = {.task = task,
					      .wait = w,
					      .weight = ticks > 0xffffffff ? 0xffffffff
									   : (__u32)ticks,
					      .reason = reason};
	__u32 cpu = bpf_get_smp_processor_id();
	struct sampler_control *control = bpf_map_lookup_elem(&controls, &cpu);

	if (!w || !control)
		return 0;
	/* Nothing is known of threads outside of the recorder's pid namespace. */
	if (system_wide && pidns_ino && !recorder_tgid(task))
		return 0;
	counts_of(control)->ticks += moment.weight;
	return sample_thread(ctx, NULL, &moment);
}

/* Takes a sample that only brings segments of the current thread. */
static __noinline int sample_carrier(void *ctx, struct task_struct *task)
{
	const struct sampler_moment carrier = {.task = task};

	return sample_thread(ctx, NULL, &carrier);
}

/* Returns how often the thread has left a CPU. */
static __always_inline __u64 count_switches(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* Notes what a sample needs of the current thread, which leaves its CPU. */
static __always_inline void note_context(void *ctx, struct task_struct *task,
					 struct sampler_wait *w)
{
	__u32 cpu = bpf_get_smp_processor_id(), index = (__u32)task->pid % SAMPLER_SENT;
	struct sampler_control *control = bpf_map_lookup_elem(&controls, &cpu);
	struct pcce_page *head = (struct pcce_page *)w->head;
	struct pcce_page_stack stack = {};
	struct sampler_sent *known;

	if (!control)
		return;
	w->switches = count_switches(task);
	w->page = locate_thread_page(w->head, task->thread.fsbase, control);
	if (!w->page)
		return;
	w->n_labels = head->labels ? pcce_copy_labels(w->labels, head->labels, read_user) : 0;
	/* Segments cannot be read later. */
	pcce_page_describe(&stack, head, w->page);
	if (!stack.n_below)
		return;
	known = bpf_map_lookup_elem(&sent, &index);
	if (!known)
		return;
	stack.below = (stack.upper ? *(struct pcce_entry *)(w->head + HEAD + PCCE_OFF_HALF - 16)
				   : head->base)
			      .id;
	if (known->tid != (__u32)task->pid || !pcce_all_sent(&stack, known->generation))
		sample_carrier(ctx, task);
}

/* The thread leaves its CPU. */
static __always_inline void begin_wait(void *ctx, struct task_struct *task, struct sampler_wait *w,
				       __u64 now, int preempted)
{
	__u32 state = task_state(task);

	if (!w)
		return;
	if (state & TASK_DEAD) {
		leave_place(task->pid);
		return;
	}
	note_context(ctx, task, w);
	w->since = now;
	w->reason = wait_reason(task, state, preempted);
	w->woken = w->reason == PCCE_WAIT_PREEMPTED ? now : 0;
}

/* The wait ends, or the recording does. */
static __always_inline void end_wait(void *ctx, struct task_struct *task, struct sampler_wait *w,
				     __u64 now)
{
	__u64 blocked, runnable;
	__u32 reason;

	/* Nothing is noted of a new thread's first wait, nor before Linux 5.18 of waits that began
	 * before the recording. Is it still the wait that was noted? */
	if (!w || !w->since || !w->switches || w->switches != count_switches(task))
		return;
	runnable = w->woken ? now - w->woken : 0;
	blocked = wait_ticks(w, now - w->since - runnable);
	runnable = wait_ticks(w, runnable);
	reason = w->reason;
	w->since = w->woken = 0;
	if (blocked)
		sample_wait(ctx, task, w, blocked, reason);
	if (!runnable)
		return;
	sample_wait(ctx, task, w, runnable,
		    reason == PCCE_WAIT_PREEMPTED ? reason : PCCE_WAIT_RUNNABLE);
}

SEC("tp_btf/sched_switch")
int on_switch(__u64 *args)
{
	struct task_struct *prev = (struct task_struct *)args[1],
			   *next = (struct task_struct *)args[2];
	struct sampler_wait *begins = find_wait(prev->pid), *ends = find_wait(next->pid);
	__u64 now;

	if (!begins && !(task_state(prev) & TASK_DEAD))
		begins = new_wait(prev);
	if (!ends)
		ends = find_waiting(next);
	if (!begins) {
		opaque(ends); /* the verifier refuses a check of both at once */
		if (!ends)
			return 0;
	}
	now = bpf_ktime_get_ns();
	begin_wait(args, prev, begins, now, args[0] & 1);
	end_wait(args, next, ends, now);
	return 0;
}

static __always_inline int note_wakeup(struct task_struct *task)
{
	struct sampler_wait *w = find_wait(task->pid);

	if (!w)
		w = find_waiting(task);
	if (w && w->since && !w->woken)
		w->woken = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_wakeup")
int on_wakeup(__u64 *args)
{
	return note_wakeup((struct task_struct *)args[0]);
}

/* A new thread waits for its first CPU. */
SEC("tp_btf/sched_wakeup_new")
int on_wakeup_new(__u64 *args)
{
	struct sampler_wait *w = new_wait((struct task_struct *)args[0]);

	if (w)
		w->since = w->woken = bpf_ktime_get_ns();
	return 0;
}

/* Reads the page of another thread, for on_begin(). Returns its address, or 0. */
static __always_inline __u64 locate_page_of(struct task_struct *task, __u8 *to)
{
	__u32 i, n = n_offsets;

	for (i = 0; i < SAMPLER_OFFSETS && i < n; i++) {
		__u64 page = task->thread.fsbase + (__u64)offsets[i];

		if (!bpf_copy_from_user_task(to, sizeof(found.head), (const void *)page, task, 0) &&
		    pcce_page_is_valid((const struct pcce_page *)to, page))
			return page;
	}
	return 0;
}

/* For on_begin(): notes for which futex the task waits. Returns whether it waits for one, and its
 * page is to be noted. */
static __always_inline int note_futex(struct task_struct *task)
{
	__u32 tid = task->pid;
	struct sampler_wait *w = find_wait(tid), *before = bpf_map_lookup_elem(&waiting, &tid);

	if (!(task_state(task) & TASK_INTERRUPTIBLE) || (w && (!w->since || w->noted)) ||
	    (before && before->switches == count_switches(task)))
		return 0;
	found.noted = 1;
	found.futex = awaited_futex(task);
	found.shared = is_shared_wait(task);
	return found.futex != 0;
}

/* The recording of a running process begins, or one of locks continues: notes where threads wait.
 */
SEC("iter.s/task")
int on_begin(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sampler_process *p = task ? find_waiting_process(task) : NULL;
	__u64 switches;
	__u32 tid;

	if (!p || !p->armed || task->on_cpu)
		return 0;
	if (locks && !note_futex(task))
		return 0;
	tid = task->pid;
	switches = count_switches(task);
	found.page = locate_page_of(task, found.head);
	found.reason = wait_reason(task, task_state(task), 0);
	found.since = bpf_ktime_get_ns();
	found.woken = found.reason == PCCE_WAIT_PREEMPTED ? found.since : 0;
	found.tick = random_tick();
	found.switches = switches;
	identify_thread(task, 1, &found.pid, &found.tid);
	/* If it has run meanwhile, on_switch() knows more. */
	if (!task->on_cpu && switches == count_switches(task))
		bpf_map_update_elem(&waiting, &tid, &found, locks ? BPF_ANY : BPF_NOEXIST);
	return 0;
}

/* The recording ends, and the other programs do not run any more: samples the threads that still
 * wait. */
SEC("iter/task")
int on_end(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct sampler_wait *w;

	if (!task || task->on_cpu)
		return 0;
	w = find_wait(task->pid);
	end_wait(ctx, task, w ? w : find_waiting(task), bpf_ktime_get_ns());
	return 0;
}

#endif
