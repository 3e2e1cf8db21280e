/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the BPF program and sampler/bpf.c agree on: the rings.
 *
 * Each CPU has its own ring in memory that the recorder maps: one writer, the BPF
 * program on that CPU (the kernel never nests it), and one reader.  A BPF ring buffer
 * would cost a lock and a copy: about 90 ns of the 280 that a sample may take.
 *
 * A ring is two segments, used in turn (elements of a BPF array: an element may not be
 * larger than 4 MB on older kernels).  head and tail count bytes from the beginning of
 * the recording.  Position p is in segment p / SIZE modulo 2, at byte p % SIZE.  A record
 * that begins in a segment stays in it: each has room for the largest one beyond its end,
 * and after a record that reaches the end or beyond, the next one begins in the other
 * segment.
 *
 * The reader also asks, at each turn, that the segment be left before it is full, so that
 * at moderate rates only the first few pages of both are used and stay in the cache: a
 * deep stack that is copied to cold memory costs twice as much.
 *
 * A record begins with SAMPLER_SKIP bytes that mean nothing (the head of the thread page
 * was read over them), then struct pcce_sample and what follows it.
 *
 * The writer: if leave names the segment of head, left = head, and head goes on at the
 * start of the next segment.  Is there no room for the largest record before tail + 2
 * SIZE, dropped += 1; else the record is written, then head is stored.
 * The reader: head is read (acquire), then left.  Records up to head are read; at left,
 * if head is beyond it, reading goes on at the start of the next segment.  Then tail is
 * stored (release), and leave.  x86 keeps the order of a CPU's stores, so the writer
 * needs compiler barriers only.
 */
#ifndef PCCE_BPF_SAMPLER_H
#define PCCE_BPF_SAMPLER_H

#include <pcce/abi.h>

/* Places, as offsets from the thread pointer, at which thread pages may be. */
#define SAMPLER_OFFSETS 32

/* Processes that a tracepoint recording can follow at a time. */
#define SAMPLER_PROCESSES 16384

#define SAMPLER_SEGMENTS 2
#define SAMPLER_SEGMENT_SHIFT_MAX 21 /* with room for the largest record still below 4 MB */
#define SAMPLER_SEGMENT_MAX (1u << SAMPLER_SEGMENT_SHIFT_MAX)
#define SAMPLER_SKIP 24u
#define SAMPLER_RECORD_MAX                                  \
	(SAMPLER_SKIP + sizeof(struct pcce_sample) +        \
	 PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) + \
	 PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment))

struct sampler_control { /* of one CPU's ring */
	/* The writer's, for each sample: */
	__u64 head;
	__u64 left;	/* where it left a segment early, the last time */
	__s64 offset;	/* of the page, as it was right last time */
	__u64 clock_at; /* the event's own clock, when it was last compared with CLOCK_MONOTONIC ...
			 */
	__u64 clock_offset; /* ... and what was to be added */
	__u64 clock_asked;  /* how often the two were compared, up to CLOCK_FIRST */
	__u64 tid;	    /* the thread whose segments were looked after the last time, ... */
	__u64 generation;   /* ... and up to where they have been sent */
	/* The reader's: */
	__u64 tail;
	__u64 leave; /* 1 + number (position / SIZE) of the segment to be left */
	__u64 reserved1[6];
	/* The writer's, which it seldom touches: */
	__u64 dropped;	 /* samples for which there was no room */
	__u64 throttled; /* samples after which the kernel stopped the event for the rest of a clock
			    tick */
	__u64 reserved2[6];
};

PCCE_ASSERT_SIZE(sampler_control, 192);
PCCE_ASSERT_OFFSET(sampler_control, tail, 64);

PCCE_STATIC_ASSERT(SAMPLER_SKIP + sizeof(struct pcce_sample) ==
			   __builtin_offsetof(struct pcce_page, entry),
		   "the sample's entries no longer stand where the page's are read");

/*
 * Which of a thread's segments have been sent: all up to this generation.  In a table that is
 * indexed by the thread's number, so two threads may take it from each other, even mixed up: then
 * segments are sent again, or are missing in the file, and the reader sees that they are.
 */
#define SAMPLER_SENT 4096
struct sampler_sent {
	__u64 tid;
	__u64 generation;
};

/* A process that a tracepoint recording follows. */
struct sampler_process {
	__u32 armed; /* 0: do not sample it before it has done an exec */
	__u32 reserved;
};

#endif
