// SPDX-License-Identifier: GPL-2.0
/*
 * Takes one sample: the overflow handler of a session's perf events.
 *
 * It runs in a timer interrupt (clocks), in an NMI (hardware events), or in the interrupted task
 * itself with preemption disabled (software events, tracepoints). Locks of the scheduler or of
 * anything else may be held. So it never sleeps, takes no lock, allocates nothing, and prints
 * nothing.
 *
 * It does a bounded amount of work:
 *
 *  - At most PCCE_KMOD_OFFSETS + 3 reads of user memory, of at most a kilobyte each, find and read
 *    the page.
 *  - The encoding stack may have grown by more than a segment since the last sample. Then at most
 *    256 + 17 reads of a word find the new segments.
 *  - One sample takes at most PCCE_SAMPLE_SEGMENTS of these. They are 147 KB, which are copied and
 *    hashed in less than a tenth of a millisecond.
 *  - A session that copies stacks reads up to 128 KiB in up to 16 parts of 8 KiB, and compares as
 *    many bytes. If a part cannot be read, at most 16 reads of 512 bytes find where it ends.
 *  - A session that asks for the kernel's stacks walks at most 160 frames, if it was in the kernel.
 *  - Usually the work is one read of user memory and a few dozen stores.
 *
 * The handler cannot run twice at once on one CPU for one session. But an NMI may come while it
 * handles a software event; `busy` turns that NMI into a counted drop. Whoever sets busy clears it
 * before the interrupted code continues, so a plain variable is enough.
 *
 * What it calls, and why an NMI may call it:
 *
 *   READ_ONCE, smp_load_acquire, ...   loads and stores
 *   task_pt_regs                       address arithmetic on current's own stack
 *   __task_pid_nr_ns                   RCU reads; perf's own handlers call it (perf_event_pid)
 *   ktime_get_mono_fast_ns             made for NMIs: a latch instead of a lock
 *   copy_from_user_nofault             see page.c
 *   pcce_is_dumpable                   loads, under RCU in newer kernels
 *   rdfsbase, rdmsr                    instructions
 *   siphash, memset                    arithmetic
 *   stack_trace_save                   perf's handlers walk stacks, too; see kernel_stack.c
 *   irq_work_queue                     made for NMIs: the work runs later, in another interrupt
 */
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/ktime.h>

#include "compat.h"
#include "kernel_stack.h"
#include "labels.h"
#include "page.h"
#include "ring.h"
#include "segments.h"
#include "stacks.h"

static u32 event_weight(const struct pcce_session *s, const struct perf_sample_data *data)
{
	if (!(s->config.flags & PCCE_KMOD_WEIGHT_PERIOD))
		return 1;
	return clamp_t(u64, data->period, 1, U32_MAX);
}

static void write_record(void *to, const struct pcce_sample *sample, u32 size)
{
	struct pcce_kmod_record *record = to;

	*record = (struct pcce_kmod_record){.size = size, .type = PCCE_KMOD_SAMPLE};
	*(struct pcce_sample *)(record + 1) = *sample;
}

static_assert(sizeof(struct pcce_kmod_record) + sizeof(struct pcce_sample) == PCCE_HEAD,
	      "a record's entries no longer stand where the page's are read");

/* Takes a sample of the current task. pid: its process, in the session's pid namespace. */
static void sample_task(struct pcce_session *s, struct pcce_cpu *c,
			const struct perf_sample_data *data, struct pt_regs *regs, pid_t pid)
{
	struct pcce_reading reading = {};
	struct pcce_sample sample;
	u64 kip = 0, kernel_ip = 0;
	size_t room;
	void *to = pcce_ring_reserve(s, c, &room);
	u32 size;

	if (!to)
		return;
	if (!regs || !user_mode(regs)) {
		/* The interrupt of a hardware event comes late. It may find the task in the kernel
		 * though the event counts user mode only. Then nobody may see where. */
		if (regs && !s->attr.exclude_kernel)
			kernel_ip = regs->ip;
		if (s->attr.type != PERF_TYPE_TRACEPOINT)
			kip = kernel_ip;
		/* The registers that the entry code saved when this task entered the kernel. */
		regs = task_pt_regs(current);
		reading.flags = PCCE_SAMPLE_KERNEL;
	}
	pcce_read_page(s, c, to, room, &reading);
	pcce_copy_stack(s, c, regs, to, &reading);
	if (kernel_ip)
		pcce_copy_kernel_stack(s, kernel_ip, to, &reading);
	pcce_read_labels(s, to, &reading);
	sample = (struct pcce_sample){
		.time = ktime_get_mono_fast_ns(),
		.pid = pid,
		.tid = task_pid_nr_ns(current, s->ns),
		.ip = regs->ip,
		.r11 = regs->r11,
		.id = reading.id,
		.ext = reading.ext,
		.flags = reading.flags,
		.weight = event_weight(s, data),
		.n_entries = reading.n_entries,
		.n_segments = reading.n_segments,
		.n_below = reading.n_below,
		.n_stack = reading.n_stack,
		.cpu = smp_processor_id(),
		.sp = regs->sp,
		.below = reading.below,
		.kip = reading.n_kernel ?: kip,
	};
	size = pcce_record_size(&reading);
	write_record(to, &sample, size);
	pcce_ring_commit(s, c, size);
	pcce_segments_sent(s, c, to, &reading);
}

/*
 * Returns how many further periods had passed when the timer of a clock ran. The kernel leaves
 * their samples out (hrtimer_forward() in perf_swevent_hrtimer(), kernel/events/core.c). This
 * happens if the CPU had interrupts disabled, or if a virtual machine did not run. The timer's own
 * time is still that of the first of these periods.
 */
static u64 late_periods_of(const struct perf_event *event)
{
	u64 period = event->hw.sample_period, late;

	if (event->attr.type != PERF_TYPE_SOFTWARE ||
	    (event->attr.config != PERF_COUNT_SW_CPU_CLOCK &&
	     event->attr.config != PERF_COUNT_SW_TASK_CLOCK))
		return 0;
	late = ktime_get_mono_fast_ns() - ktime_to_ns(hrtimer_get_expires(&event->hw.hrtimer));
	return (s64)late < (s64)period || !period ? 0 : div64_u64(late, period);
}

void pcce_on_event(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
	const struct pcce_watched *w = event->overflow_handler_context;
	struct pcce_session *s = w->session;
	struct pcce_cpu *c;
	pid_t pid;

	if (!READ_ONCE(s->active) || !READ_ONCE(w->accepted))
		return;
	c = this_cpu_ptr(s->cpus);
	if (!c->writer)
		return;
	if (READ_ONCE(c->busy)) {
		c->dropped[PCCE_KMOD_DROP_NESTED]++;
		return;
	}
	WRITE_ONCE(c->busy, 1);
	barrier();
	if (event->hw.interrupts == PCCE_MAX_INTERRUPTS)
		c->throttled++;
	c->late += late_periods_of(event);
	/* No mm: a kernel thread, or a task that has ended so far that its memory is gone. */
	pid = current->flags & PCCE_NO_USER || !current->mm ? 0 : task_tgid_nr_ns(current, s->ns);
	if (pid)
		sample_task(s, c, data, regs, pid);
	else
		c->no_user++;
	barrier();
	WRITE_ONCE(c->busy, 0);
}
