/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the rings between the BPF program and lib/sampler/bpf.c.
 *
 * Each CPU has its own ring in memory that the recorder maps. It has one writer, the BPF program on
 * that CPU (the kernel never nests it), and one reader. A BPF ring buffer would cost a lock and a
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
 * over them), or with struct sampler_claim. Then follow struct pcce_sample and its parts. With
 * PCCE_SAMPLE_COPY, there are only the changed blocks in place of the stack (pcce/stack_blocks.h).
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
#include <pcce/stack_blocks.h>

/* Most candidates for a thread page's offset from the thread pointer. */
#define SAMPLER_OFFSETS 32

/* Processes that a tracepoint recording can follow at a time. */
#define SAMPLER_PROCESSES 16384

#define SAMPLER_SEGMENTS 2
#define SAMPLER_SEGMENT_SHIFT_MAX 21 /* with room for the largest record still below 4 MB */
#define SAMPLER_SEGMENT_MAX (1u << SAMPLER_SEGMENT_SHIFT_MAX)
#define SAMPLER_SKIP 24u
#define SAMPLER_RECORD_BEFORE_COPY                          \
	(SAMPLER_SKIP + sizeof(struct pcce_sample) +        \
	 PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) + \
	 PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment))
#define SAMPLER_RECORD_MAX \
	(SAMPLER_RECORD_BEFORE_COPY + (PCCE_COPY_REGISTERS + PCCE_STACK_SENT_WORDS) * 8)

/* Which samples bring a copy of the stack. */
enum sampler_copy {
	SAMPLER_COPY_NONE,
	SAMPLER_COPY_PAGE, /* those of threads with a page */
	SAMPLER_COPY_ALL
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
	__u64 clock_asked; /* number of comparisons, up to CLOCK_FIRST */
	/* The thread whose segments were last searched, and the generation up to which they are
	 * sent. */
	__u64 tid;
	__u64 generation;
	/* Written by the reader: */
	__u64 tail;
	__u64 leave; /* 1 + number (position / SIZE) of the segment to leave */
	__u64 reserved1[6];
	/* Written by the BPF program, rarely: */
	__u64 dropped; /* samples without room */
	/* Samples after which the kernel stopped the event for the rest of a clock tick. */
	__u64 throttled;
	__u64 others;  /* runs on a tracepoint for processes that are not followed */
	__u64 late;    /* periods of a clock that had passed before its timer ran */
	__u64 counted; /* samples that were counted in places */
	__u64 reserved2[3];
};

PCCE_ASSERT_SIZE(sampler_control, 192);
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

/* Which samples may be counted. */
enum sampler_count {
	SAMPLER_COUNT_NONE,
	SAMPLER_COUNT_ALL,    /* --hot */
	SAMPLER_COUNT_REFUSED /* --only: those of states that the reader has refused */
};

/*
 * Counting in the kernel (pcce-record --hot and --only). Each CPU has a table of places. A place
 * counts samples of one state: samples with equal state have one context. Such a sample adds to the
 * place, and writes nothing to the ring. All other samples go through the ring.
 *
 * A sample that goes through the ring may claim a place, if its state can be counted. Its record
 * says so, and says what the place had counted when it was claimed. Counters are never reset, so
 * the reader attributes each increment to the state that had the place at that time. It reads all
 * counters of a CPU before it reads head. A counter that is then above what the last claim says
 * belongs to that claim; otherwise the claim came later.
 *
 * A state is all that a context depends on, entries and thread included, as 128 bits of hash: as
 * many as the recorder's keys of contexts have. It contains the class of the instruction pointer in
 * place of the pointer. Instructions whose samples mean the same have the same class, for example
 * most of a function. Only the reader can know classes, so it tells the program, in the array of
 * addresses. Samples at an address without a class go through the ring, and the reader then adds
 * it. `seq` is odd while the reader writes an element. A class is true in its epoch only, which is
 * a part of the state, too (lib/record/hot.h). In such a recording, a record's field event is the
 * epoch.
 *
 * With SAMPLER_COUNT_REFUSED, the reader decides about each claim. If it refuses one, it stores the
 * number of the claim in the place. From then on, samples of that state only count. All others go
 * through the ring. A place that has another state in the meantime has another number.
 */
#define SAMPLER_PLACES_MAX 4096 /* of a CPU; a power of two */
#define SAMPLER_PLACES_MIN 2
#define SAMPLER_ADDRESSES (1u << 14)
#define SAMPLER_NO_PLACE 0xffffffffu
#define SAMPLER_CREDIT_MAX 15
/* A claim's field place has a place in these bits, and above them the number of the claim. */
#define SAMPLER_PLACE_BITS 12
#define SAMPLER_CLAIMS (1u << 19) /* numbers of claims are modulo this */

struct sampler_address {
	__u32 seq;
	__u32 pid; /* in the recorder's pid namespace; 0: of the kernel */
	__u64 address;
	__u64 class;
	__u32 epoch;
	__u32 reserved;
};

/* The first of two places of an address in the array; the second one is next to it. */
static inline __attribute__((always_inline)) __u32 sampler_address_index(__u32 pid, __u64 address)
{
	__u64 h = (address ^ pid * 0x9e3779b97f4a7c15ULL) * 0xff51afd7ed558ccdULL;

	return (__u32)(h >> 40) & (SAMPLER_ADDRESSES - 2);
}

struct sampler_place {
	__u64 state[2]; /* 0: free */
	__u64 weight, last;
	__u32 seq;     /* odd while weight, last and samples change */
	__u32 samples; /* modulo 2^32 */
	__u32 credit;  /* samples of other states that it survives */
	__u32 claims;  /* number of the last claim */
	__u32 refused; /* written by the reader: 1 + number of the claim that it refused last */
	__u32 reserved1;
	__u64 reserved2;
};

struct sampler_claim {
	__u64 weight, last; /* of the place when it was claimed */
	__u32 samples;
	__u32 place; /* with the number of the claim; SAMPLER_NO_PLACE: the sample claims none */
};

PCCE_ASSERT_SIZE(sampler_claim, SAMPLER_SKIP);
PCCE_ASSERT_SIZE(sampler_address, 32);
PCCE_ASSERT_SIZE(sampler_place, 64);
PCCE_STATIC_ASSERT(SAMPLER_PLACES_MAX <= 1u << SAMPLER_PLACE_BITS &&
			   (__u64)SAMPLER_CLAIMS << SAMPLER_PLACE_BITS < SAMPLER_NO_PLACE,
		   "the place and the number do not fit into the field of a claim");

/* A process that a tracepoint recording follows. */
struct sampler_process {
	__u32 armed; /* 0: do not sample it before it has done an exec */
	__u32 reserved;
};

#endif
