/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Copies the context of the current thread out of its thread page, for the programs of
 * sampler.bpf.c.
 *
 * In the context of the thread that an event interrupted:
 *
 *  1. The page is at the thread pointer (task->thread.fsbase) plus an offset, which is a constant
 *     of the program. offsets[] holds the candidates. The program first tries the one that was
 *     right last time on this CPU. The page's magic decides.
 *  2. One read takes the page's header and both halves of the encoding stack. The cost of a read
 *     hardly depends on its size, and a second one would cost as much again. If the current segment
 *     is in the upper half, its entries are moved down. Of the segments below it
 *     (pcce/page_reader.h), the sample carries only those that were not sent with this thread's
 *     earlier samples: mostly none. So the cost does not depend on the depth of the stack.
 *  3. The user registers come from the event's context if it interrupted user code. Otherwise they
 *     come from where the kernel's entry code saved them.
 *  4. The page is read directly into the CPU's ring (sampler.h). The sample is written over the
 *     page's header, whose fields are in registers by then:
 *
 *       0      24                128
 *       | head of the page        | entries ...        as it is read
 *       | (skip) | struct pcce_sample | entries ...    as it stays
 */
#ifndef PCCE_BPF_TAKE_SAMPLE_H
#define PCCE_BPF_TAKE_SAMPLE_H

#include <linux/bpf.h>
#include <linux/types.h>
#include <asm/unistd_64.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include <pcce/abi.h>
#include <pcce/labels.h>
#include <pcce/page_reader.h>
#include <pcce/stack_blocks.h>
#include "bpf/kernel.h"
#include "bpf/processes.h"
#include "bpf/sampler.h"

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym __weak;

/* Keeps the compiler from removing or moving a check that only the verifier needs. */
#define opaque(x) asm volatile("" : "+r"(x))

/* The context of a perf_event program, as in user space's bpf_perf_event_data: an ABI, so without
 * CO-RE. */
struct event_context {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
	__u64 sample_period;
	__u64 addr;
};

/* The recorder sets these before loading. */
const volatile __u32 event_number; /* of the recording: below SAMPLER_EVENTS */
const volatile __u32 weighted;	   /* a sample's weight is the event's period */
const volatile __u32
	/* bpf_cast_to_kern_ctx exists, and the event is no tracepoint. */
	event_known;
const volatile __u32 event_clock; /* event_known, and the event is cpu-clock */
const volatile __u32 event_timer; /* event_known, and a timer of the kernel makes the event */
const volatile __u32 segment_shift =
	/* Bytes of a segment (SIZE in sampler.h) are 1 << segment_shift. */
	SAMPLER_SEGMENT_SHIFT_MAX;

const volatile __u32 copy_stacks;   /* enum sampler_copy */
const volatile __u32 kernel_stacks; /* samples in the kernel bring its stack */
const volatile __u32 guarded;	    /* programs of the recording can interrupt each other */
const volatile __u32 can_stay;	    /* bpf_preempt_disable exists */
const volatile __u32 locks;	    /* the event is waits for futexes: bpf/locks.h */
const volatile __u32 holders;	    /* the next event is those that end them */

/* The recorder sets these at any time. */
__s64 offsets[SAMPLER_OFFSETS];
__u32 n_offsets;
__u32 stack_bytes = PCCE_STACK_BYTES; /* of a stack that samples need */

#define HEAD __builtin_offsetof(struct pcce_page, entry)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the recorder sets it: CPUs */
	__type(key, __u32);
	__type(value, struct sampler_control);
} controls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* the recorder sets both: CPUs * SAMPLER_SEGMENTS */
	__uint(key_size, sizeof(__u32));
	__uint(value_size, SAMPLER_SEGMENT_MAX + SAMPLER_RECORD_MAX);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SAMPLER_SENT);
	__type(key, __u32);
	__type(value, struct sampler_sent);
} sent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* the recorder sets it, if stacks are copied: CPUs */
	__type(key, __u32);
	__type(value, struct pcce_stack_table);
} blocks SEC(".maps");

/*
 * Returns n < 64 as another number for the verifier. What it learns of the copy in a loop, it does
 * not learn of n. So it sees that the code after the loop is the same for any number of rounds.
 * Otherwise it follows each number to the program's end.
 */
static __always_inline __u32 separate_number(__u32 n)
{
	opaque(n);
	n &= 63;
	opaque(n);
	return n;
}

static __always_inline int read_user(void *to, __u64 from, __u64 bytes)
{
	return !bpf_probe_read_user(to, bytes, (const void *)from);
}

/* Reads the head and both halves. */
static __always_inline int read_thread_page(__u8 *to, __u64 page)
{
	return read_user(to, page, HEAD + PCCE_OFF_HALF + PCCE_OFF_FULL) &&
	       pcce_page_is_valid((const struct pcce_page *)to, page);
}

static __always_inline void move_entries(struct pcce_entry *to, const struct pcce_entry *from)
{
	__builtin_memcpy(to, from, 4 * sizeof(*to));
	asm volatile("" ::: "memory");
}

/* Moves n entries of the upper half, and their base, to the place of the lower half's. */
static __always_inline void move_upper_half(__u8 *to, __u32 n)
{
	struct pcce_page *page = (struct pcce_page *)to;
	struct pcce_entry *upper = page->entry + PCCE_OFF_HALF / sizeof(struct pcce_entry);

	PCCE_STATIC_ASSERT(PCCE_SEGMENT_ENTRIES == 16, "all entries of a segment");
	page->base = upper[-1];
	/* No loop: the compiler would make it a call of memmove(), which BPF does not have. */
	if (n > 0)
		move_entries(page->entry, upper);
	if (n > 4)
		move_entries(page->entry + 4, upper + 4);
	if (n > 8)
		move_entries(page->entry + 8, upper + 8);
	if (n > 12)
		move_entries(page->entry + 12, upper + 12);
}

/* Searches all places for the page, if it is not where it was last time. Not static, as
 * copy_stack_part(). */
__noinline __u64 find_thread_page(__u64 fsbase, struct sampler_control *control)
{
	__u32 i, n = n_offsets;

	if (!control)
		return 0;
	for (i = 0; i < SAMPLER_OFFSETS; i++) {
		__u64 word;

		if (i >= n)
			break;
		if (!bpf_probe_read_user(&word, sizeof(word),
					 (const void *)(fsbase + (__u64)offsets[i])) &&
		    (__u32)word == PCCE_PAGE_MAGIC) {
			control->offset = offsets[i];
			return fsbase + (__u64)offsets[i];
		}
	}
	return 0;
}

/* Reads the page of the current thread. Returns its address, or 0. */
static __always_inline __u64 locate_thread_page(__u8 *to, __u64 fsbase,
						struct sampler_control *control)
{
	__u64 page = fsbase + (__u64)control->offset;

	if (read_thread_page(to, page))
		return page;
	page = find_thread_page(fsbase, control);
	return page && read_thread_page(to, page) ? page : 0;
}

struct unsent_segments {
	struct pcce_page_stack stack;
	__u64 tid;
	__u64 at;    /* where they begin in their segment of the ring */
	__u32 index; /* of that one */
	__u32 n;     /* number of those that were read */
};

/* Where they may begin. */
#define SEGMENTS_AT_MAX (SAMPLER_SEGMENT_MAX + HEAD + PCCE_OFF_FULL)

/* Reads the unsent segments behind the entries. Returns flags of the sample. Not static, as
 * copy_stack_part(). */
__noinline int read_new_segments(struct unsent_segments *unsent, struct sampler_control *control)
{
	const struct pcce_page_stack *s;
	__u32 place, index, flags;
	struct sampler_sent *known;
	struct pcce_chosen chosen;
	__u64 tid, at, before;
	__u8 *to;

	if (!unsent || !control)
		return PCCE_SAMPLE_TRUNCATED;
	s = &unsent->stack;
	tid = unsent->tid;
	at = unsent->at;
	index = unsent->index;
	place = (__u32)tid % SAMPLER_SENT;
	known = bpf_map_lookup_elem(&sent, &place);
	to = bpf_map_lookup_elem(&rings, &index);
	if (!known || !to || at > SEGMENTS_AT_MAX)
		return PCCE_SAMPLE_TRUNCATED;
	to += at;
	before = known->tid == tid ? known->generation : 0;
	flags = pcce_choose_unsent(&chosen, s, before, read_user);
	if (!(chosen.stored + chosen.kept)) {
		control->tid = tid;
		control->generation = before;
		return flags;
	}
	/* The verifier knows nothing of what the ring has. So it follows the search once for all
	 * numbers that it can find. */
	*(volatile __u64 *)to = chosen.stored;
	chosen.stored = *(volatile __u64 *)to;
	if (chosen.stored > PCCE_SAMPLE_SEGMENTS ||
	    !pcce_copy_segments((struct pcce_segment *)to, s, &chosen, read_user))
		return PCCE_SAMPLE_TRUNCATED;
	unsent->n = chosen.stored + chosen.kept;
	known->tid = tid;
	known->generation = chosen.last;
	return flags;
}

struct stack_copy {
	struct pcce_stack_registers registers;
	__u64 from, end; /* what remains of the stack; `from` begins a block */
	__u64 at;	 /* where a part begins, behind registers, in its segment of the ring */
	__u32 index;	 /* of this segment */
	__u32 group;
	__u32 part, words;
};

/* Where a part may begin. */
#define PART_AT_MAX                                         \
	(SAMPLER_SEGMENT_MAX + SAMPLER_RECORD_BEFORE_COPY + \
	 (PCCE_STACK_PARTS - 1) * PCCE_STACK_PART_WORDS * 8)

/*
 * Reads up to a part of a stack. It ends before a piece that cannot be read: there it really ends,
 * or a page is not in memory. *blocks: the number that was read. It is in memory, so the verifier
 * does not follow each number to the program's end.
 */
static __always_inline void read_part(__u8 *to, __u64 from, __u64 bytes, volatile __u32 *blocks)
{
	__u32 i;

	bytes = (bytes + PCCE_STACK_BLOCK - 1) & -(__u64)PCCE_STACK_BLOCK;
	if (bytes > PCCE_STACK_PART)
		bytes = PCCE_STACK_PART;
	*blocks = (__u32)bytes / PCCE_STACK_BLOCK;
	opaque(bytes);
	if (bytes <= PCCE_STACK_PART && !bpf_probe_read_user(to, bytes, (const void *)from))
		return;
	for (i = 0; i < PCCE_STACK_PART / PCCE_STACK_PIECE; i++) {
		if ((i + 1) * PCCE_STACK_PIECE > bytes ||
		    bpf_probe_read_user(to + i * PCCE_STACK_PIECE, PCCE_STACK_PIECE,
					(const void *)(from + i * PCCE_STACK_PIECE)))
			break;
	}
	*blocks = i * (PCCE_STACK_PIECE / PCCE_STACK_BLOCK);
}

/*
 * Copies what the reader does not know of the next part of the stack, and before the first part the
 * registers. Moves *copy behind this part. Returns whether another part follows.
 *
 * Not static, so the verifier follows its loops once, and not once for each path to it.
 */
__noinline int copy_stack_part(struct stack_copy *copy)
{
	__u32 cpu = bpf_get_smp_processor_id(), index, words;
	struct pcce_stack_table *known;
	struct pcce_stack_changes *stack;
	__u64 at, from;
	__u8 *to;

	if (!copy || !copy_stacks) /* then the verifier skips the rest */
		return 0;
	index = copy->index;
	at = copy->at;
	from = copy->from;
	known = bpf_map_lookup_elem(&blocks, &cpu);
	to = bpf_map_lookup_elem(&rings, &index);
	if (!known || !to || at > PART_AT_MAX)
		return 0;
	to += at;
	if (!copy->part)
		*(struct pcce_stack_registers *)to = copy->registers;
	stack = (struct pcce_stack_changes *)(to + sizeof(copy->registers));
	stack->blocks = 0;
	if (copy->end > from)
		read_part((__u8 *)known->now, from, copy->end - from, &stack->blocks);
	stack->group = copy->group;
	pcce_stack_send(known, stack, from);
	words = sizeof(*stack) / 8 +
		(*(volatile __u32 *)&stack->sent & 511) * (PCCE_STACK_BLOCK / 8);
	copy->words += words;
	copy->at = at + (__u64)words * 8;
	copy->from = from + PCCE_STACK_PART;
	copy->part++;
	return *(volatile __u32 *)&stack->blocks == PCCE_STACK_BLOCKS && copy->from < copy->end;
}

/* Copies registers, and what the reader does not know of the stack from sp on. Returns the number
 * of words. */
static __noinline __u32 copy_user_stack(struct stack_copy *copy)
{
	__u32 i;

	if (!copy)
		return 0;
	copy->words = PCCE_COPY_REGISTERS;
	copy->part = 0;
	for (i = 0; i < PCCE_STACK_PARTS; i++)
		if (!copy_stack_part(copy))
			break;
	return copy->words;
}

/* A sample that no event of perf makes. */
struct sampler_moment {
	struct task_struct *task;
	/* What was noted of the task, which sleeps or leaves its CPU. NULL: its memory is the
	 * current one, and its sample only carries segments. */
	const struct sampler_wait *wait;
	__u32 weight;
	__u32 reason; /* PCCE_WAIT_*; it ends the kernel's stack */
	__u64 time;   /* 0: now */
	__u32 holder; /* 1: a sample of the next event, of the current task */
};

/* Where the kernel's frames may begin. */
#define KERNEL_AT_MAX (SAMPLER_SEGMENT_MAX + SAMPLER_RECORD_BEFORE_KERNEL - SAMPLER_SKIP)

#define KERNEL_BYTES ((PCCE_KERNEL_FRAMES - 1) * 8)

/* Reads the kernel's stack behind all else, in segment `index` of the ring; of a wait with its
 * reason. Returns the number of frames. */
static __always_inline __u32 read_kernel_stack(void *ctx, const struct sampler_moment *wait,
					       __u32 index, __u64 at)
{
	__u8 *to = bpf_map_lookup_elem(&rings, &index);
	long bytes;
	__u64 n;

	if (!to || at > KERNEL_AT_MAX)
		return 0;
	to += at;
	bytes = wait ? bpf_get_task_stack(wait->task, to, KERNEL_BYTES, 0)
		     : bpf_get_stack(ctx, to, KERNEL_BYTES, 0);
	n = bytes > 0 ? (__u64)bytes / 8 : 0;
	opaque(n);
	if (!wait || n >= PCCE_KERNEL_FRAMES)
		return n;
	((__u64 *)to)[n] = wait->reason;
	return n + 1;
}

/* Writes what is known of a wait behind all else. Returns the number of words. */
static __always_inline __u32 write_wait(const struct sampler_wait *wait, __u32 index, __u64 at)
{
	__u8 *to = bpf_map_lookup_elem(&rings, &index);

	if (!to || at > KERNEL_AT_MAX)
		return 0;
	*(struct pcce_wait *)(to + at) = wait->end;
	return sizeof(wait->end) / 8;
}

/* Where labels may begin. */
#define LABELS_AT_MAX (SAMPLER_SEGMENT_MAX + SAMPLER_RECORD_BEFORE_LABELS - SAMPLER_SKIP)

/* Reads the labels that the variable at an address names, behind all else in segment `index` of
 * the ring. Returns the number of words. Not static, as copy_stack_part(). */
__noinline __u32 read_labels(__u64 variable, __u32 index, __u64 at)
{
	__u8 *to = bpf_map_lookup_elem(&rings, &index);

	return to && at <= LABELS_AT_MAX ? pcce_copy_labels(to + at, variable, read_user) : 0;
}

/* Copies the labels that were noted of a wait. */
static __always_inline __u32 copy_labels(const struct sampler_wait *wait, __u32 index, __u64 at)
{
	__u8 *to = bpf_map_lookup_elem(&rings, &index);
	__u32 n = wait->n_labels;

	if (!to || at > LABELS_AT_MAX || !n || n > PCCE_LABELS_BYTES / 8 ||
	    bpf_probe_read_kernel(to + at, sizeof(wait->labels), wait->labels))
		return 0;
	return n;
}

/* Returns the thread's number in its own pid namespace. The struct is read through a number: old
 * verifiers refuse such a sum with a pointer. */
static __always_inline __u32 own_number(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid *u =
		(struct upid *)((__u64)__builtin_preserve_access_index(&pid->numbers[0]) +
				(__u64)BPF_CORE_READ(pid, level) * bpf_core_type_size(struct upid));

	return BPF_CORE_READ(u, nr);
}

/*
 * Is the page that of a thread which the kernel has just made the main thread, in execve()? Until
 * the kernel also replaces the memory, such a thread has the main thread's number, and its own
 * page. The child of a vfork() has its parent's page rightly.
 */
static __always_inline int belongs_to_other(struct task_struct *task, __u64 system_call, __u32 tid)
{
	return (system_call == __NR_execve || system_call == __NR_execveat) && !task->vfork_done &&
	       own_number(task) != tid;
}

/* Only if event_known. */
static __always_inline struct perf_event *kernel_event(struct event_context *event)
{
	struct bpf_perf_event_data_kern *kernel = bpf_cast_to_kern_ctx(event);

	return kernel->event;
}

#define CLOCK_EVERY (1 << 24) /* ns */
#define CLOCK_SLACK 1000      /* ns */
#define CLOCK_FIRST 16	      /* samples */

/*
 * Returns the time. To read the clock costs a quarter of the whole sample (rdtsc waits for all
 * loads before it). But the handler of a cpu-clock event has just read the scheduler's clock, and
 * left the value in the event. That clock has another zero, and drifts by at most one millionth. So
 * the two clocks are compared now and then.
 *
 * Some time passes between the two readings, much of it if the machine itself was not running.
 * Therefore the offset may grow only slowly. A CPU's first samples all read both clocks, until the
 * smallest offset is known; an offset that is later found too large would turn the time back.
 */
static __always_inline __u64 event_time(struct event_context *event,
					struct sampler_control *control)
{
	__u64 clock, offset;

	if (!event || !event_clock)
		return bpf_ktime_get_ns();
	clock = *(__u64 *)&kernel_event(event)->hw.prev_count;
	if (clock - control->clock_at > CLOCK_EVERY || control->clock_asked < CLOCK_FIRST) {
		offset = bpf_ktime_get_ns() - clock;
		if (control->clock_asked < CLOCK_FIRST) {
			if (!control->clock_asked++ || (__s64)(offset - control->clock_offset) < 0)
				control->clock_offset = offset;
			control->clock_at = clock;
			return clock + offset;
		}
		if ((__s64)(offset - control->clock_offset) > CLOCK_SLACK &&
		    (__s64)(offset - control->clock_offset) < 1000000000)
			offset = control->clock_offset + CLOCK_SLACK;
		control->clock_offset = offset;
		control->clock_at = clock;
	}
	return clock + control->clock_offset;
}

/* The value of hw_perf_event.interrupts when the kernel has just stopped the event, until the CPU's
 * next clock tick. */
#define MAX_INTERRUPTS (~0ULL)

static __always_inline int is_throttled(struct event_context *event)
{
	return event && event_known && kernel_event(event)->hw.interrupts == MAX_INTERRUPTS;
}

/*
 * Returns how many further periods had passed when the event's timer ran at the time `now`. The
 * kernel leaves their samples out (hrtimer_forward() in perf_swevent_hrtimer()). This happens if
 * the CPU had interrupts disabled, or if a virtual machine did not run. The timer's own time is
 * still that of the first of these periods.
 */
static __always_inline __u64 late_periods(struct event_context *event, __u64 now)
{
	__u64 period = event->sample_period;
	__s64 expires = 0;

	if (bpf_probe_read_kernel(&expires, sizeof(expires),
				  &kernel_event(event)->hw.hrtimer.node.expires) ||
	    !expires || (__s64)(now - expires) < (__s64)period || !period)
		return 0;
	return (now - expires) / period;
}

/* A clock that follows a task knows the task, which saves a call. One that follows a CPU has
 * none. */
static __always_inline struct task_struct *event_task(struct event_context *event)
{
	if (event && event_clock) {
		struct task_struct *task = kernel_event(event)->ctx->task;

		if (task)
			return task;
	}
	return bpf_get_current_task_btf();
}

static __always_inline struct sampler_counts *counts_of(struct sampler_control *control)
{
	return &control->of[event_number % SAMPLER_EVENTS];
}

/* Counts a sample for which there is no room. */
static __always_inline void count_dropped(struct sampler_control *control,
					  const struct sampler_moment *moment)
{
	if (moment && moment->holder)
		control->of[(event_number + 1) % SAMPLER_EVENTS].dropped += moment->weight;
	else
		counts_of(control)->dropped += moment ? moment->weight : 1;
}

/* Copies what read_thread_page() has read before. */
static __always_inline __u64 copy_thread_page(__u8 *to, const struct sampler_wait *w)
{
	if (!w->page || bpf_probe_read_kernel(to, sizeof(w->head), w->head))
		return 0;
	return w->page;
}

#define PROBE_PAGE 4096
#define PROBE_INSTRUCTION 16 /* bytes, at most */

/* In a trampoline of probes: nobody knows whether the thread has arrived from the function that has
 * returned, or leaves for its caller. */
#define PROBE_UNKNOWN 1

/*
 * Returns where the thread would be without probes. A breakpoint replaces the instruction at a
 * probe. The kernel lets the thread execute a copy, in a page that it adds to the process, but the
 * state has a meaning for the original. Functions with a probe of returns return to the beginning
 * of this page.
 */
static __noinline __u64 undo_probe(struct task_struct *task, __u64 ip)
{
	const struct uprobe_task *u;

	if (!task || !bpf_core_field_exists(task->utask) || !task->utask ||
	    ip - task->mm->uprobes_state.xol_area->vaddr >= PROBE_PAGE)
		return ip;
	u = task->utask;
	return ip - u->xol_vaddr <= PROBE_INSTRUCTION ? u->vaddr + (ip - u->xol_vaddr)
						      : PROBE_UNKNOWN;
}

static __always_inline int fill_sample(void *ctx, struct event_context *event,
				       const struct sampler_moment *moment)
{
	const struct sampler_wait *wait = moment ? moment->wait : NULL;
	struct task_struct *task = moment ? moment->task : event_task(event);
	__u64 ip, sp, r11, kip = 0, id = 0, ext = 0, fsbase = task->thread.fsbase, pos, size, at;
	__u64 segment_size = 1ULL << segment_shift, segment, system_call = -1ULL, page;
	__u32 cpu = bpf_get_smp_processor_id(), index, flags = 0, pid, tid;
	struct stack_copy copy = {};
	struct sampler_control *control;
	struct pcce_page_stack stack = {};
	struct pcce_sample *out;
	__u32 n_stack = 0, n_segments = 0, n_kernel = 0, n_labels = 0;
	__u64 labels = 0;
	__u8 *to;

	/* This comes before the paths divide: the verifier follows this search once for each path
	 * to it. */
	identify_thread(task, moment && !moment->holder, &pid, &tid);
	control = bpf_map_lookup_elem(&controls, &cpu);
	if (!control)
		return 0;
	pos = control->head;
	segment = pos >> segment_shift;
	if (segment + 1 == *(volatile __u64 *)&control->leave && pos & (segment_size - 1)) {
		control->left = pos;
		pos = ++segment << segment_shift;
	}
	if (pos + SAMPLER_RECORD_MAX - *(volatile __u64 *)&control->tail >
	    SAMPLER_SEGMENTS * segment_size) {
		count_dropped(control, moment);
		return 0;
	}
	index = cpu * SAMPLER_SEGMENTS + (__u32)segment % SAMPLER_SEGMENTS;
	to = bpf_map_lookup_elem(&rings, &index);
	if (!to)
		return 0;
	at = pos & (segment_size - 1);
	to += at;
	out = (struct pcce_sample *)(to + SAMPLER_SKIP);

	if (event && event->cs & 3) {
		ip = event->ip;
		sp = event->sp;
		r11 = event->r11;
		if (copy_stacks)
			copy.registers = PCCE_STACK_REGISTERS(event);
		/* Otherwise the compiler merges these loads with those below, through a pointer
		 * that the verifier rejects. */
		opaque(ip);
		opaque(sp);
		opaque(r11);
	} else {
		struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(
			wait ? task : bpf_get_current_task_btf());

		ip = regs->ip;
		sp = regs->sp;
		r11 = regs->r11;
		system_call = regs->orig_ax;
		if (copy_stacks)
			copy.registers = PCCE_STACK_REGISTERS(regs);
		flags = PCCE_SAMPLE_KERNEL;
		if (event)
			kip = event->ip;
	}

	ip = undo_probe(task, ip);
	page = wait ? copy_thread_page(to, wait) : locate_thread_page(to, fsbase, control);
	if (page && belongs_to_other(task, system_call, ((const struct pcce_page *)to)->tid))
		page = 0;
	if (page) {
		const struct pcce_page *head = (const struct pcce_page *)to;

		id = head->id;
		ext = head->ext;
		labels = head->labels;
		if (ip == PROBE_UNKNOWN) {
			id = PCCE_ID_LOST_MIN;
			ext = 0;
		}
		flags |= pcce_page_describe(&stack, head, page);
		if (stack.upper)
			move_upper_half(to, separate_number(stack.n_entries));
		if (stack.n_below) {
			stack.below = head->base.id;
			/* Usually all have been sent. */
			if (!wait && (control->tid != (__u32)task->pid ||
				      !pcce_all_sent(&stack, control->generation))) {
				struct unsent_segments unsent = {
					.stack = stack,
					.tid = (__u32)task->pid,
					.at = at + HEAD +
					      (__u64)stack.n_entries * sizeof(struct pcce_entry),
					.index = index,
				};

				flags |= read_new_segments(&unsent, control);
				n_segments = unsent.n;
			}
		}
	} else {
		flags |= PCCE_SAMPLE_OUTSIDE;
	}
	/* So on_event() needs 376 bytes of stack. Linux 6.1 has no room for more than 384. */
	if (!moment && sp &&
	    ((copy_stacks & SAMPLER_COPY_PAGE && page) ||
	     (copy_stacks & SAMPLER_COPY_OUTSIDE && !page))) {
		copy.from = sp & -(__u64)PCCE_STACK_BLOCK;
		copy.end = sp & 7 ? 0
				  : pcce_stack_end(sp, task->mm->start_stack, task->thread.fsbase,
						   *(volatile __u32 *)&stack_bytes, !page);
		copy.at = at + HEAD + (__u64)stack.n_entries * sizeof(struct pcce_entry) +
			  (__u64)n_segments * sizeof(struct pcce_segment);
		copy.index = index;
		copy.group = pcce_stack_group((__u32)task->pid);
		n_stack = copy_user_stack(&copy);
		flags |= PCCE_SAMPLE_COPY;
	}

	if (moment && !wait) {
		if (!moment->holder)
			flags |= PCCE_SAMPLE_CARRIER;
	} else if (locks) {
		if (wait && holders) {
			kip = n_kernel = write_wait(
				wait, index,
				at + HEAD + (__u64)stack.n_entries * sizeof(struct pcce_entry));
			flags |= PCCE_SAMPLE_WAIT;
		}
	} else if (kernel_stacks && flags & PCCE_SAMPLE_KERNEL) {
		n_kernel = read_kernel_stack(
			ctx, moment, index,
			at + HEAD + (__u64)stack.n_entries * sizeof(struct pcce_entry) +
				(__u64)n_segments * sizeof(struct pcce_segment) +
				(__u64)n_stack * 8);
		if (n_kernel) {
			flags |= PCCE_SAMPLE_KERNEL_STACK;
			kip = n_kernel;
		}
	}

	at += HEAD + (__u64)stack.n_entries * sizeof(struct pcce_entry) +
	      (__u64)n_segments * sizeof(struct pcce_segment) + ((__u64)n_stack + n_kernel) * 8;
	if (labels)
		n_labels = wait ? copy_labels(wait, index, at) : read_labels(labels, index, at);

	out->time = moment && moment->time ? moment->time : event_time(event, control);
	if (is_throttled(event))
		counts_of(control)->throttled++;
	if (event && event_timer)
		counts_of(control)->late += late_periods(event, out->time);
	out->pid = pid;
	out->tid = tid;
	out->ip = ip;
	out->r11 = r11;
	out->id = id;
	out->ext = ext;
	flags |= n_labels << PCCE_SAMPLE_LABELS_SHIFT;
	out->flags = task->ptrace ? flags | PCCE_SAMPLE_TRACED : flags;
	out->weight = moment ? moment->weight : 1;
	if (weighted && event) {
		__u64 period = event->sample_period;

		out->weight = period > 0xffffffff ? 0xffffffff : period ? period : 1;
	}
	out->n_entries = stack.n_entries;
	out->n_segments = n_segments;
	out->n_below = stack.n_below;
	out->n_stack = n_stack;
	out->event = event_number + (moment ? moment->holder : 0);
	out->cpu = index / SAMPLER_SEGMENTS;
	out->sp = sp;
	out->below = stack.below;
	out->kip = kip;

	size = at + n_labels * 8 - (pos & (segment_size - 1));
	if (at + n_labels * 8 >= segment_size)
		size = segment_size - (pos & (segment_size - 1));
	barrier();
	*(volatile __u64 *)&control->head = pos + size;
	return 0;
}

/*
 * event: NULL if ctx is another program's context. moment: NULL: the weight is the event's.
 *
 * The kernel does not keep the programs for waits, and those for probes in user code, from running
 * while one of the others does, and the other way round (NMIs, preemption).
 */
static __always_inline int sample_thread(void *ctx, struct event_context *event,
					 const struct sampler_moment *moment)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct sampler_control *control;

	if (!guarded)
		return fill_sample(ctx, event, moment);
	control = bpf_map_lookup_elem(&controls, &cpu);
	if (!control)
		return 0;
	if (__sync_val_compare_and_swap(&control->busy, 0, 1)) {
		if (moment)
			count_dropped(control, moment);
		else
			counts_of(control)->nested++;
		return 0;
	}
	fill_sample(ctx, event, moment);
	barrier();
	*(volatile __u64 *)&control->busy = 0;
	return 0;
}

#endif
