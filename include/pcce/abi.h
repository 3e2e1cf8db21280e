/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The thread page and the sample: what instrumented code, the runtime, the BPF
 * program, the kernel module and the tools agree on at run time.
 *
 * The encoding is Precise Calling Context Encoding (Sumner, Zheng, Weeratunge,
 * Zhang: ICSE 2010, TSE 2012).  docs/design.md tells the whole story; here are
 * the words that this file uses.
 *
 *   site     one call instruction in instrumented code, named by the address of
 *            that instruction (the "call address").
 *   slot     bytes that the plugin reserves directly before and directly after a
 *            call instruction, and that pcce-encode fills.
 *   id       number of the acyclic segment from the segment's root to the current
 *            function.
 *   push     at a call that may recurse or leave the module: the id is saved in an
 *            entry, with the site, and a new segment begins with id 0.
 *   ext      the site of a call into uninstrumented code that cannot call back, or
 *            of a function that calls nothing.
 *
 * One writer, the thread itself, and readers that have interrupted that very
 * thread (or that hold it stopped): stores in program order are enough, there is
 * no atomic instruction.  A reader that looks from another CPU gets a page that
 * may be torn and must mark what it read as not exact.
 */
#ifndef PCCE_ABI_H
#define PCCE_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif
#include <pcce/assert.h>

#define PCCE_PAGE_SIZE 4096
#define PCCE_PAGE_MAGIC 0x65636370u /* "pcce" */
#define PCCE_PAGE_VERSION 3

/*
 * An entry of the encoding stack.
 *
 * site: bits 0..47 hold the run-time address of the call instruction (user-space
 * code lies below 2^47), bits 48..63 say how often this entry repeats: 0 means it
 * was pushed once, n that it was pushed n + 1 times in a row with the same id and
 * the same site.  Such pushes are counted where the segment is full; else they are
 * entries of their own.  PCCE_COUNT_MARK there marks the base of a segment, see below;
 * PCCE_COUNT_MAX is the highest real count, after which a new segment is begun.
 * The values between are kinds of special entries: a handler that interrupts
 * instrumented code runs on top of two of them,
 *     { interrupted id,  PCCE_COUNT_SIGNAL << 48 | interrupted ip }
 *     { interrupted ext, PCCE_COUNT_SIGNAL2 << 48 | interrupted r11 (low 48 bits) }
 * so that the decoder can go on from the interrupted state as from a sample's.  A jump that is
 * under way, up to __pcce_restore in the function that it enters, has two on top,
 *     { id,                        PCCE_COUNT_JUMP << 48 | number of its segment << 16 | off }
 *     { site of the top entry,     PCCE_COUNT_JUMP2 << 48 | ext of the setjmp }
 * the state that __pcce_restore is going to bring about.  It holds as soon as ip is in the function
 * of the site that ext names (the record has it too); until then the state is what is below the
 * record, with ext 0.
 * An instrumented function that was called as a leaf runs on top of two more,
 *     { caller's id, PCCE_COUNT_LEAF << 48 | caller's ext }
 *     { 0,           PCCE_COUNT_FILL << 48 }
 * Below the stack of a thread that pthread_create() or thrd_create() has made there is a copy of
 * its creator's, without those that fill, and on top of that { creator's id, PCCE_COUNT_ORIGIN <<
 * 48 | creator's ext } { n,            PCCE_COUNT_ORIGIN2 << 48 } the state in which it called. The
 * n entries below these two, not counting those that fill, are its stack, down to the next such
 * pair at least; are there fewer, the outer ones were not copied.  The second of the pair is the
 * last entry of a segment that is complete as long as the thread lives, and the thread's own stack
 * begins with the segment after it.
 */
struct pcce_entry {
	__u64 id;
	__u64 site;
};

#define PCCE_SITE_BITS 48
#define PCCE_SITE_MASK ((1ULL << PCCE_SITE_BITS) - 1)
#define PCCE_COUNT_MARK 0xffffULL
#define PCCE_COUNT_MAX 0xffefULL
#define PCCE_COUNT_SIGNAL 0xfff0ULL
#define PCCE_COUNT_SIGNAL2 0xfff1ULL
#define PCCE_COUNT_JUMP 0xfff2ULL
#define PCCE_COUNT_JUMP2 0xfff3ULL
#define PCCE_COUNT_FILL 0xfff4ULL /* means nothing: makes room for two entries side by side */
#define PCCE_COUNT_LEAF 0xfff5ULL
#define PCCE_COUNT_ORIGIN 0xfff6ULL
#define PCCE_COUNT_ORIGIN2 0xfff7ULL
#define PCCE_MARK_WORD (PCCE_COUNT_MARK << PCCE_SITE_BITS)

/* An id with the top bit set is not known: the entry that would have restored it
 * could not be kept.  Slots go on adding to it and taking
 * off again, so any id >= PCCE_ID_LOST_MIN counts as lost.  Encoded ids stay below
 * 2^62. */
#define PCCE_ID_LOST 0xc000000000000000ULL
#define PCCE_ID_LOST_MIN 0x8000000000000000ULL
#define PCCE_ID_LIMIT 0x4000000000000000ULL

/* ext while the runtime moves from one segment to another on behalf of no slot: the state cannot be
 * decoded. */
#define PCCE_EXT_CHANGING 1

/* How a landing pad of instrumented code begins, after its endbr64 if it has one: nopl
 * 0x65636370(%rax), as bytes. The runtime need not look after an exception that lands there. */
#define PCCE_LANDING_MARK 0x0f, 0x1f, 0x80, 0x70, 0x63, 0x63, 0x65

/* Entries of a segment of the encoding stack. */
#define PCCE_SEGMENT_ENTRIES 32
#define PCCE_OFF_FULL (PCCE_SEGMENT_ENTRIES * 16)
#define PCCE_OFF_HALF 1024
#define PCCE_OFF_USED (PCCE_OFF_HALF - 1) /* mask: bytes that are used in the half */
#define PCCE_OFF_SLOW \
	0xfffffa00u /* any of these bits in off: the segment is full (or off is no off of ours) */

/* Segments that the area outside the page has room for. Reserved by one mmap when a thread
 * first needs it, and touched only as far as it is used. */
#define PCCE_AREA_SEGMENTS (1u << 15)

/* Of its creator's stack, so many at most are below a thread's own; a power of two. */
#define PCCE_ORIGIN_SEGMENTS 64

/*
 * A segment that is complete, outside the page. base.id is the generation of the segment
 * below it, 0 if there is none or it is not known; base.site is PCCE_MARK_WORD.
 */
struct pcce_segment {
	__u64 generation; /* 0: nothing is here */
	__u64 index;	  /* segments below it */
	struct pcce_entry base;
	struct pcce_entry entry[PCCE_SEGMENT_ENTRIES];
};

/* pcce_page.place: the number of segments below the current one, shifted, and what the page's other
 * half holds. */
#define PCCE_PLACE_SHIFT 2
#define PCCE_PLACE_KEPT \
	1u /* the segment directly below the current one; its place in the area is not written yet \
	    */
#define PCCE_PLACE_FILLING 2u /* is being filled with it */
#define PCCE_PLACE_HELD 3u    /* mask */

/* pcce_page.state */
#define PCCE_STATE_LIVE 1u    /* between thread start and thread end */
#define PCCE_STATE_RESTORE 2u /* the runtime is putting the state back after a non-local jump */

/*
 * The thread page: `__thread struct pcce_page pcce_page`, initial-exec TLS, aligned
 * to its size.  It begins as zeros; slots work on it from a thread's first
 * instruction, announced or not.
 *
 * The encoding stack is a sequence of segments of PCCE_SEGMENT_ENTRIES entries.  The page has room
 * for two, in its halves: the newest, which is the current one, and one other.  The lower half's
 * begins with base, directly before entry[0]; the upper half's with entry[63] (PCCE_OFF_HALF bytes
 * further).  The segment with an even number is in the lower half.  The current segment's entries
 * are those from the half's start up to off.  "The top entry", 16 bytes below off, may be the base:
 * its count is PCCE_COUNT_MARK, so that a pop there takes the slow path.
 *
 * A push onto a full segment begins the next one in the other half; what that half holds goes to
 * the area first (area[index], if place says KEPT).  A pop from an empty segment goes back to the
 * one below, which is in the other half or comes back from the area.  A segment that is left
 * upwards is complete and does not change until it is the current one again: it gets a generation,
 * a number that this thread never uses again, which the next segment's base names.  So one number,
 * current base.id, names everything below the current segment, and whoever has it already needs not
 * read it again: that makes the price of a sample independent of depth.  Is an area not to be had,
 * or exhausted, what should go there is not kept: its entries come back with id PCCE_ID_LOST and
 * site 0.  There may be no area as long as only one segment is below, and is kept; place 0 of the
 * area may be one that never was in use.
 *
 * off and place change together, in one store of 8 bytes.  A signal handler that goes up and comes
 * down again leaves both and all live entries as they were, but that KEPT may be gone, and FILLING.
 *
 * Order of a push (so that a signal handler that pushes in between, and a sampler
 * that looks in between, find a consistent stack): claim the entry (off += 16, or
 * count += 1), fill it, then id = 0.  Order of a pop: id = entry.id,
 * then release the entry.  Which of these steps have been done is told by the
 * instruction pointer; see struct pcce_table_site.
 */
struct pcce_page {
	__u32 magic;   /* runtime, once per thread: PCCE_PAGE_MAGIC when announced */
	__u16 version; /* runtime: PCCE_PAGE_VERSION */
	__u16 size;    /* runtime: PCCE_PAGE_SIZE */
	__u32 tid;     /* runtime: thread id in the initial pid namespace of the process */
	__u32 state;   /* runtime: PCCE_STATE_* */
	__u64 id;      /* slots, push/pop, restore */
	__u64 ext;     /* slots, push/pop, restore: below 2^32: link-time address of a site in
			* the main executable; else run-time address of a site; 0: none;
			* or PCCE_EXT_CHANGING */
	union {
		__u64 position; /* both */
		struct {
			__u32 off;   /* push/pop, restore: end of the current segment, in bytes from
					entry[] */
			__u32 place; /* runtime: see PCCE_PLACE_* */
		};
	};
	__u64 area; /* runtime: address of struct pcce_segment[PCCE_AREA_SEGMENTS], or 0 */
	__u64 reserved0;
	__u64 jumps;	  /* runtime: address of what it knows about this thread's setjmps, or 0 */
	__u64 generation; /* runtime: the last one given */
	__u64 reserved1[5];
	struct pcce_entry base;
	struct pcce_entry entry[(PCCE_PAGE_SIZE - 128) / 16];
};

PCCE_ASSERT_SIZE(pcce_entry, 16);
PCCE_ASSERT_SIZE(pcce_segment, 544);
PCCE_ASSERT_SIZE(pcce_page, PCCE_PAGE_SIZE);
PCCE_ASSERT_OFFSET(pcce_page, magic, 0);
PCCE_ASSERT_OFFSET(pcce_page, version, 4);
PCCE_ASSERT_OFFSET(pcce_page, size, 6);
PCCE_ASSERT_OFFSET(pcce_page, tid, 8);
PCCE_ASSERT_OFFSET(pcce_page, state, 12);
PCCE_ASSERT_OFFSET(pcce_page, id, 16);
PCCE_ASSERT_OFFSET(pcce_page, ext, 24);
PCCE_ASSERT_OFFSET(pcce_page, off, 32);
PCCE_ASSERT_OFFSET(pcce_page, place, 36);
PCCE_ASSERT_OFFSET(pcce_page, area, 40);
PCCE_ASSERT_OFFSET(pcce_page, jumps, 56);
PCCE_ASSERT_OFFSET(pcce_page, generation, 64);
PCCE_ASSERT_OFFSET(pcce_page, base, 112);
PCCE_ASSERT_OFFSET(pcce_page, entry, 128);

/* pcce_sample.flags */
#define PCCE_SAMPLE_KERNEL \
	1u /* the thread was in the kernel; ip and r11 are its user registers at entry */
#define PCCE_SAMPLE_OUTSIDE 2u /* no announced page: only ip is meaningful */
#define PCCE_SAMPLE_TRUNCATED \
	4u /* not all segments below the sampled ones could be read, or were sent, so far */
#define PCCE_SAMPLE_READ_FAULT 8u /* the page could not be read */
#define PCCE_SAMPLE_STACK 16u	  /* n_stack return addresses follow the entries (verify mode) */
#define PCCE_SAMPLE_UNWIND_BAD \
	32u /* verify mode: the unwinder gave up before the outermost frame */
#define PCCE_SAMPLE_COUNTED \
	64u /* stands for several samples, see struct pcce_sample; in a file: PCCE_REC_SUM */
#define PCCE_SAMPLE_R11_MIXED 128u /* ... and r11 differs, too */
#define PCCE_SAMPLE_MIXED \
	256u /* ... between which the meaning of their addresses has changed: not decodable */
#define PCCE_SAMPLE_BY_CONTENT \
	512u /* generations are names of contents, see struct pcce_sample \
	      */

/* Segments that come with a sample at most. */
#define PCCE_SAMPLE_SEGMENTS 256

/*
 * One sample, as every sampler delivers it, and as it stands in pcce.data.
 * Then follow: n_entries entries of the current segment, oldest first; n_segments of struct
 * pcce_segment, oldest first; and, with PCCE_SAMPLE_STACK, n_stack run-time addresses (u64),
 * innermost first, beginning with ip itself.
 *
 * The segments are those below the current one that no earlier sample of this thread has brought. A
 * reader keeps them: those of index 0 .. n_below - 1 that it has are the whole stack if below is
 * the generation of the last one, and each one's base.id that of the one before. With
 * PCCE_SAMPLE_BY_CONTENT it is the same, but the generations (below, and those in the segments) are
 * not a thread's own numbers: each stands for what a segment and all below it hold, whatever thread
 * it belongs to, and the segments are those that no earlier sample of the recording has brought.  0
 * stands for what is not known.
 *
 * With PCCE_SAMPLE_COUNTED it stands for several that were equal but for the thread, the CPU, the
 * time, and sp: sp says how many, weight is the sum of their weights, tid is 0 if they are of
 * several threads, and the others are those of the first.
 */
struct pcce_sample {
	__u64 time; /* ns, CLOCK_MONOTONIC */
	__u32 pid;  /* process (tgid) and thread in the recorder's pid namespace; from the self
		     * sampler, tid is  the process's own number */
	__u32 tid;
	__u64 ip;  /* user-space instruction pointer */
	__u64 r11; /* user-space r11: names the site while ip is in a push or pop helper */
	__u64 id;
	__u64 ext;
	__u32 flags;	  /* PCCE_SAMPLE_* */
	__u32 weight;	  /* how many events this sample stands for; at least 1 */
	__u32 n_entries;  /* entries that follow: at most PCCE_SEGMENT_ENTRIES */
	__u32 n_segments; /* segments that follow: at most PCCE_SAMPLE_SEGMENTS */
	__u32 n_below;	  /* complete segments below the current one */
	__u32 n_stack;
	__u32 event; /* index of the event that was sampled; 0 with one event */
	__u32 cpu;
	__u64 sp; /* user-space stack pointer; with PCCE_SAMPLE_COUNTED, how many samples these are
		   */
	__u64 below; /* generation of the segment below the current one; 0 with n_below */
	__u64 kip;   /* the kernel's instruction pointer if the thread was in it; 0: unknown, or not
			in the kernel */
};

PCCE_ASSERT_SIZE(pcce_sample, 104);
PCCE_ASSERT_OFFSET(pcce_sample, ip, 16);
PCCE_ASSERT_OFFSET(pcce_sample, id, 32);
PCCE_ASSERT_OFFSET(pcce_sample, flags, 48);
PCCE_ASSERT_OFFSET(pcce_sample, n_entries, 56);
PCCE_ASSERT_OFFSET(pcce_sample, event, 72);
PCCE_ASSERT_OFFSET(pcce_sample, sp, 80);
PCCE_ASSERT_OFFSET(pcce_sample, below, 88);
PCCE_ASSERT_OFFSET(pcce_sample, kip, 96);

#endif
