/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the rings between the BPF program and lib/sampler/bpf.c.
 *
 * Each CPU has its own ring in memory that the recorder maps. It has one writer, the BPF program on
 * that CPU, and one reader. With several events there is a program for each. They share their maps,
 * and the kernel never nests them. A BPF ring buffer would cost a lock and a
 * copy: about 90 ns of the 280 that a sample may take.
 *
 * A ring is two segments of SIZE bytes, used in turn. They are elements of a BPF array; older
 * kernels limit an element to 4 MB. head and tail count bytes since the recording began. Position p
 * is in segment p / SIZE modulo 2, at byte p % SIZE. A record that begins in a segment stays in it:
 * each segment has room for the largest record beyond its end. After a record that reaches the end
 * or beyond, the next one begins in the other segment.
 *
 * At each turn, the reader also asks the writer to leave the segment before it is full. So at
 * moderate rates only the first few pages of both are used, and stay in the cache. Copying a deep
 * stack to cold memory costs twice as much.
 *
 * A record begins with SAMPLER_SKIP bytes without meaning (the head of the thread page was read
 * over them). Then follow struct pcce_sample and its parts. With PCCE_SAMPLE_COPY, there are only
 * the changed blocks in place of the stack (pcce/stack_blocks.h). With PCCE_SAMPLE_KERNEL_STACK,
 * the frames of the kernel follow; with PCCE_SAMPLE_WAIT, a struct pcce_wait. Then the thread's
 * labels follow, if it has any (pcce/labels.h).
 *
 * The writer: if leave names the segment of head, then left = head, and head continues at the start
 * of the next segment. If the largest record has no room before tail + 2 * SIZE, dropped += 1.
 * Otherwise it writes the record, then stores head.
 *
 * The reader: it reads head (acquire), then left. It reads records up to head. At left, if head is
 * beyond it, it continues at the start of the next segment. Then it stores tail (release), and
 * leave. x86 keeps the order of a CPU's stores, so the writer needs only compiler barriers.
 */
#ifndef PCCE_BPF_SAMPLER_H
#define PCCE_BPF_SAMPLER_H

#include <pcce/abi.h>
#include <pcce/labels.h>
#include <pcce/stack_blocks.h>

/* Most candidates for a thread page's offset from the thread pointer. */
#define SAMPLER_OFFSETS 32

/* Most events of a recording. */
#define SAMPLER_EVENTS 8

/* Processes that a recording of tracepoints or probes can follow at a time. */
#define SAMPLER_PROCESSES 16384

/* Elements of a table that says for most processes that they are not followed. */
#define SAMPLER_MAYBE 4096

#define SAMPLER_SEGMENTS 2
#define SAMPLER_SEGMENT_SHIFT_MAX 21 /* with room for the largest record still below 4 MB */
#define SAMPLER_SEGMENT_MAX (1u << SAMPLER_SEGMENT_SHIFT_MAX)
#define SAMPLER_SKIP 24u
#define SAMPLER_RECORD_BEFORE_COPY                          \
	(SAMPLER_SKIP + sizeof(struct pcce_sample) +        \
	 PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) + \
	 PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment))
#define SAMPLER_RECORD_BEFORE_KERNEL \
	(SAMPLER_RECORD_BEFORE_COPY + (PCCE_COPY_REGISTERS + PCCE_STACK_SENT_WORDS) * 8)
#define SAMPLER_RECORD_BEFORE_LABELS (SAMPLER_RECORD_BEFORE_KERNEL + PCCE_KERNEL_FRAMES * 8)
#define SAMPLER_RECORD_MAX (SAMPLER_RECORD_BEFORE_LABELS + PCCE_LABELS_BYTES)

/* Which samples bring a copy of the stack. */
enum sampler_copy {
	SAMPLER_COPY_NONE,
	SAMPLER_COPY_PAGE = 1,	  /* those of threads with a page */
	SAMPLER_COPY_OUTSIDE = 2, /* those of threads without a page, and perhaps others */
	SAMPLER_COPY_ALL = SAMPLER_COPY_PAGE | SAMPLER_COPY_OUTSIDE
};

struct sampler_counts { /* of one event on one CPU; written by the BPF program, rarely */
	__u64 dropped;	/* samples without room */
	/* Samples after which the kernel stopped the event for the rest of a clock tick. */
	__u64 throttled;
	__u64 others;  /* runs on a tracepoint or a probe for processes that are not followed */
	__u64 late;    /* periods of a clock that had passed before its timer ran */
	__u64 ticks;   /* of waits; dropped counts ticks, too */
	__u64 crowded; /* waits of threads that had no place */
	__u64 nested;  /* samples that fell into another one that was being taken */
};

struct sampler_control { /* of one CPU's ring */
	/* Written by the BPF program for each sample: */
	__u64 head;
	__u64 left;   /* where it last left a segment early */
	__s64 offset; /* the page's offset that was right last time */
	/* The event's own clock when it was last compared with CLOCK_MONOTONIC, and what to add to
	 * it. */
	__u64 clock_at;
	__u64 clock_offset;
	__u32 clock_asked; /* number of comparisons, up to CLOCK_FIRST */
	__u32 reserved0;
	/* The thread whose segments were last searched, and the generation up to which they are
	 * sent. */
	__u64 tid;
	__u64 generation;
	/* Written by the reader: */
	__u64 tail;
	__u64 leave; /* 1 + number (position / SIZE) of the segment to leave */
	/* Written by the program, if another one can interrupt it: a sample is being taken. */
	__u64 busy;
	__u64 reserved1[5];
	struct sampler_counts of[SAMPLER_EVENTS];
};

PCCE_ASSERT_SIZE(sampler_control, 128 + SAMPLER_EVENTS * 56);
PCCE_ASSERT_OFFSET(sampler_control, tail, 64);

PCCE_STATIC_ASSERT(SAMPLER_SKIP + sizeof(struct pcce_sample) ==
			   __builtin_offsetof(struct pcce_page, entry),
		   "the sample's entries no longer stand where the page's are read");

/*
 * Which of a thread's segments have been sent: all up to this generation. The table is indexed by
 * the thread's number, so two threads may overwrite each other's element, even in part. Then
 * segments are sent again, or are missing in the file, and the reader detects that.
 */
#define SAMPLER_SENT 4096
struct sampler_sent {
	__u64 tid;
	__u64 generation;
};

/* Threads whose waits can be sampled at a time. */
#define SAMPLER_THREADS 16384

/* Places for threads whose numbers have the same lower bits: a line of the cache. Numbers of
 * threads mostly follow each other, so the sets fill evenly. */
#define SAMPLER_PLACES 8
struct sampler_set {
	__u64 tid[SAMPLER_PLACES]; /* 0: free */
};

/* What is read of a thread page: its header and both halves. */
#define SAMPLER_PAGE_BYTES \
	(__builtin_offsetof(struct pcce_page, entry) + PCCE_OFF_HALF + PCCE_OFF_FULL)

/* What is known of the waits of a thread. Times are those of bpf_ktime_get_ns(). */
struct sampler_wait {
	__u64 since;  /* it has no CPU since then; 0: it has one */
	__u64 woken;  /* it is runnable since then; 0: it is blocked */
	__u64 now;    /* ns of its time off CPUs that are in the current period */
	__u64 tick;   /* ns from the beginning of this period to its tick */
	__u32 ticked; /* the tick has passed */
	__u32 reason; /* PCCE_WAIT_* */
	/* When it left its CPU: the address of its thread page, and what was read there. 0: it has
	 * none, or it is not known. */
	__u64 page;
	/* Of a wait for a futex: its address, its ticks and its end. */
	__u64 futex, ticks;
	struct pcce_wait end;
	__u32 shared;	/* other processes may end it, and time cannot */
	__u32 noted;	/* page is, and what was read there */
	__u64 switches; /* the kernel's count of those of the thread; 0: nothing was noted */
	__u32 pid, tid; /* the recorder's numbers; only if it waited when the recording began */
	__u8 head[SAMPLER_PAGE_BYTES];
	__u32 n_labels; /* words of the copy of its labels */
	__u64 labels[PCCE_LABELS_BYTES / 8];
};

/* A process that a recording of tracepoints, probes or waits follows. */
struct sampler_process {
	__u32 armed; /* 0: do not sample it before it has done an exec */
	__u32 reserved;
};

#endif
