/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the thread page and the sample: the run-time interface of instrumented code, the runtime,
 * the BPF program, the kernel module and the tools.
 *
 * The encoding is Precise Calling Context Encoding (Sumner, Zheng, Weeratunge, Zhang: ICSE 2010,
 * TSE 2012). docs/design.md describes it. This file uses these words:
 *
 *   site     One call instruction in instrumented code, named by the address of that instruction
 *            (the call address).
 *   slot     Bytes that the plugin reserves directly before and directly after a call instruction,
 *            and that pcce-encode fills.
 *   segment  Of a context: the acyclic path of calls between two pushes.  Of the encoding stack:
 *            PCCE_SEGMENT_ENTRIES entries that are stored together, see struct pcce_page.
 *   id       The context id: the number of the acyclic path from the root, where the context's
 *            current segment begins, to the current function.
 *   push     What a call does that may recurse or leave the module: it saves the id and the site in
 *            an entry, and a new segment of the context begins.  The new id is 0, or the callee
 *            sets it.
 *   ext      The site of a call into uninstrumented code that cannot call back, or of a call of a
 *            function that calls nothing.
 *
 * The thread itself is the only writer of its page, except with PCCE_STATE_SHARED. Readers either
 * have interrupted that very thread or hold it stopped. So stores in program order are enough, and
 * the page needs no atomic instruction. A reader on another CPU may get a torn page, and must mark
 * what it read as not exact.
 */
#ifndef PCCE_ABI_H
#define PCCE_ABI_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif
#include <pcce/assert.h>

#define PCCE_PAGE_SIZE 896
#define PCCE_PAGE_ALIGN 64
#define PCCE_PAGE_MAGIC 0x65636370u /* "pcce" */
#define PCCE_PAGE_VERSION 4

/*
 * An entry of the encoding stack: 16 bytes.
 *
 * Bits 0..47 of site hold the run-time address of the call instruction; user-space code lies below
 * 2^47. Bits 48..63 hold the entry's count: how often the entry repeats. 0 means that it was pushed
 * once. n means n + 1 pushes in a row with the same id and the same site. A push is counted only
 * where the segment is full; elsewhere each push has its own entry.
 *
 * PCCE_COUNT_MAX is the highest real count; after it, a push begins a new segment. PCCE_COUNT_MARK
 * marks the base of a segment, see below. The values between these two are kinds of special
 * entries:
 *
 *  - Signal. A handler that interrupts instrumented code runs on top of two entries:
 *      { interrupted id,  PCCE_COUNT_SIGNAL << 48 | interrupted ip }
 *      { interrupted ext, PCCE_COUNT_SIGNAL2 << 48 | interrupted r11 (low 48 bits) }
 *    The decoder continues from this state as from the state of a sample.
 *  - Jump. While a jump is under way, up to __pcce_restore in the function that it enters, its
 *    record is on top:
 *      { id,                    PCCE_COUNT_JUMP << 48 | number of its segment << 16 | off }
 *      { site of the top entry, PCCE_COUNT_JUMP2 << 48 | ext of the setjmp }
 *    This is the state that __pcce_restore is going to establish. It holds as soon as ip is in the
 *    function of the site that ext names (the record has the same ext). Until then the state is
 *    what is below the record, with ext 0.
 *  - Leaf. An instrumented function that was called as a leaf runs on top of two entries:
 *      { caller's id, PCCE_COUNT_LEAF << 48 | caller's ext }
 *      { 0,           PCCE_COUNT_FILL << 48 }
 *  - Origin. The stack of a thread that pthread_create() or thrd_create() has made begins with a
 *    copy of its creator's entries, without fill entries. On top of the copy are two entries:
 *      { creator's id, PCCE_COUNT_ORIGIN << 48 | creator's ext }
 *      { n,            PCCE_COUNT_ORIGIN2 << 48 }
 *    They hold the state in which the creator made the call. The n entries below these two, without
 *    fill entries, are the creator's stack, at least down to the next such pair. If there are fewer
 *    than n, the outer ones were not copied. The second entry of the pair is the last one of its
 *    segment, which stays complete as long as the thread lives. The thread's own stack begins with
 *    the next segment.
 *  - Unknown. The state has changed without an instruction of a slot, for example because a signal
 *    handler has changed the instruction pointer. Two entries are on top of what was valid then:
 *      { 0, PCCE_COUNT_UNKNOWN << 48 | 1 }
 *      { sp, PCCE_COUNT_UNKNOWN << 48 | 2 }
 *    The id of the code directly above them has no meaning. A pop proves the state again if it
 *    belongs to the call of the entry below, and if its stack pointer is above sp. With sp ~0, or
 *    without one of the two, none does. The segment has room for a signal's entries above them.
 *  - Shared. Another task uses this page, too (PCCE_STATE_SHARED). Such an entry is on top of a
 *    full segment, so all pushes and pops go to the helpers, which do nothing. id and ext have no
 *    meaning. A pop proves the state as with Unknown, if the other task has ended.
 *      { sp, PCCE_COUNT_SHARED << 48 | thread id of the other task, or 0 }
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
/* A fill entry has no meaning: it makes room for two adjacent entries in one segment. */
#define PCCE_COUNT_FILL 0xfff4ULL
#define PCCE_COUNT_LEAF 0xfff5ULL
#define PCCE_COUNT_ORIGIN 0xfff6ULL
#define PCCE_COUNT_ORIGIN2 0xfff7ULL
#define PCCE_COUNT_UNKNOWN 0xfff8ULL
#define PCCE_COUNT_SHARED 0xfff9ULL
#define PCCE_MARK_WORD (PCCE_COUNT_MARK << PCCE_SITE_BITS)

/* An id with the top bit set is lost: the entry that would have restored it could not be kept.
 * Slots still add to a lost id and subtract from it, so any id >= PCCE_ID_LOST_MIN counts as lost.
 * Encoded ids are below PCCE_ID_LIMIT, 2^62. */
#define PCCE_ID_LOST 0xc000000000000000ULL
#define PCCE_ID_LOST_MIN 0x8000000000000000ULL
#define PCCE_ID_LIMIT 0x4000000000000000ULL

/* The value of ext while the runtime moves between segments and no slot is involved. The state
 * cannot be decoded then. */
#define PCCE_EXT_CHANGING 1

/* The first bytes of a landing pad in instrumented code, after its endbr64 if it has one: nopl
 * 0x65636370(%rax). The runtime has nothing to do for exceptions that land there. */
#define PCCE_LANDING_MARK 0x0f, 0x1f, 0x80, 0x70, 0x63, 0x63, 0x65

/* Entries in a segment of the encoding stack. */
#define PCCE_SEGMENT_ENTRIES 16
#define PCCE_OFF_FULL (PCCE_SEGMENT_ENTRIES * 16)
#define PCCE_OFF_HALF 512
#define PCCE_OFF_USED (PCCE_OFF_HALF - 1) /* mask: bytes of entries in the half */
/* Any of these bits in off: the segment is full, or off is not a value that the runtime sets. */
#define PCCE_OFF_SLOW 0xfffffd00u

/*
 * pcce_page.area: where segments are that are not in the page. It is the address of an array of
 * struct pcce_segment, a multiple of 4096, plus the binary logarithm of the number of elements. So
 * one store replaces the area by a larger one. 0: there is none. The runtime maps one when a thread
 * first needs it, and one of twice the size when that is full.
 */
#define PCCE_AREA_LOG 31u /* mask */
#define PCCE_AREA_ADDRESS(area) ((area) & ~4095ULL)
/* Number of segments for which the area has places. */
#define PCCE_AREA_CAPACITY(area) ((area) ? 1u << (PCCE_AREA_LOG & (area)) : 0)
/* The largest area's. */
#define PCCE_AREA_SEGMENTS (1u << 16)

/* At most this many segments of the creator's stack are below the thread's own stack; a power of
 * two. */
#define PCCE_ORIGIN_SEGMENTS 128

/*
 * A complete segment in the area: 288 bytes. base.id is the generation of the segment below it, or
 * 0 if there is none or it is not known; base.site is PCCE_MARK_WORD.
 */
struct pcce_segment {
	__u64 generation; /* 0: this place holds no segment */
	__u64 index;	  /* number of segments below it */
	struct pcce_entry base;
	struct pcce_entry entry[PCCE_SEGMENT_ENTRIES];
};

/* pcce_page.place: the number of segments below the current one, shifted left by PCCE_PLACE_SHIFT,
 * and one of these values for what the page's other half holds (0: nothing). */
#define PCCE_PLACE_SHIFT 2
/* The segment directly below the current one; it is not in the area yet. */
#define PCCE_PLACE_KEPT 1u
#define PCCE_PLACE_FILLING 2u /* the half is being filled with that segment */
#define PCCE_PLACE_HELD 3u    /* mask */

/* pcce_page.counted: the thread has not counted yet */
#define PCCE_COUNTED_NONE 1u

/* pcce_page.state */
#define PCCE_STATE_LIVE 1u    /* between thread start and thread end */
#define PCCE_STATE_RESTORE 2u /* the runtime is restoring the state after a non-local jump */
/* Another task has the same page. Nothing but id, ext and tid changes any more. */
#define PCCE_STATE_SHARED 4u

/*
 * The thread page: `__thread struct pcce_page pcce_page`, initial-exec TLS, 896 bytes, aligned to
 * 64. It begins as zeros, apart from magic, version, size and the base, which its TLS image has.
 * Slots work on it from a thread's first instruction, even before the runtime has announced it. The
 * comment of each field names its writers: slots; push and pop (slots or helpers); restore
 * (__pcce_restore); the runtime.
 *
 * It is small for two reasons. A thread's TLS is on its stack, which may have only 16 KiB. And
 * dlopen() has only 1664 bytes (glibc 2.36) for such TLS of all libraries that it loads.
 *
 * The encoding stack is a sequence of segments of PCCE_SEGMENT_ENTRIES entries. The page has two
 * halves, each with room for one segment: the newest segment, which is the current one, and one
 * other. A segment with an even number is in the lower half. Each half begins with the base of its
 * segment. In the lower half this is base, directly before entry[0]; in the upper half it is
 * entry[31], PCCE_OFF_HALF bytes further. The current segment's entries are those from the half's
 * start up to off. The top entry, 16 bytes below off, may be the base. The base's count is
 * PCCE_COUNT_MARK, so a pop there takes the slow path. entry[16] to entry[30] are no entries. The
 * runtime has its own data there.
 *
 * A push onto a full segment begins the next segment in the other half. The runtime first stores
 * what that half holds in the area (area[index], if place says KEPT). A pop from an empty segment
 * goes back to the segment below, which is in the other half or returns from the area. A segment
 * below the current one is complete: it does not change until it is the current one again. A
 * complete segment has a generation, a number that this thread never uses again, and the base of
 * the next segment names it. So one number, the current base.id, identifies everything below the
 * current segment, and a reader that already has it need not read it again. Therefore the price of
 * a sample does not depend on depth.
 *
 * If the area cannot be mapped, or cannot grow, a segment that should go there is lost: its entries
 * return with id PCCE_ID_LOST and site 0. A reader must not read beyond the area. There may be no
 * area as long as only one segment is below the current one, and is kept in the page. Place 0 of
 * the area may never have been in use.
 *
 * off and place change together, in one store of 8 bytes. A signal handler that moves up and down
 * again leaves both of them and all live entries as they were. Only KEPT and FILLING may be gone.
 *
 * A signal handler that pushes in between, and a sampler that reads in between, must find a
 * consistent stack. So a push has this order: claim the entry (off += 16, or count += 1), fill it,
 * then id = 0. A pop has this order: id = entry.id, then release the entry. The instruction pointer
 * tells which of these steps have been done; see struct pcce_table_site.
 */
struct pcce_page {
	__u32 magic;   /* initially PCCE_PAGE_MAGIC; 0 in pages of threads that a fork left */
	__u16 version; /* initially PCCE_PAGE_VERSION */
	__u16 size;    /* initially PCCE_PAGE_SIZE */
	__u32 tid;     /* runtime: thread id in the initial pid namespace of the process */
	__u32 state;   /* runtime: PCCE_STATE_* */
	__u64 id;      /* slots, push and pop, restore: the context id */
	/* Written by slots, push and pop, restore. Below 2^32: link-time address of a site in the
	 * main executable. Else: run-time address of a site, 0 (none), or PCCE_EXT_CHANGING. */
	__u64 ext;
	union {
		__u64 position; /* off and place in one word */
		struct {
			/* Written by push and pop, restore: end of the current segment, in bytes
			 * from entry[]. */
			__u32 off;
			__u32 place; /* runtime: see PCCE_PLACE_* */
		};
	};
	__u64 area; /* runtime: see PCCE_AREA_LOG */
	/* Counting engine (counting.h): the record of the thread that it uses, or 0. The runtime
	 * sets it to 0 when it changes to another encoding stack. */
	__u64 counting;
	__u64 jumps;	  /* runtime: address of its records of this thread's setjmps, or 0 */
	__u64 generation; /* runtime: the generation that was given last */
	/* Counting engine: its first record of the thread, and initially PCCE_COUNTED_NONE. 0: the
	 * runtime is older, and does not clear the field counting. */
	__u64 counted;
	union {
		/* Initially bases. Tasks that share the page without the runtime's knowledge may
		 * make off negative. A pop there finds one of these, and goes to the helper. */
		struct pcce_entry guard[2];
		/* Runtime, in place of the first one's id: the address of the thread's variable
		 * otel_thread_ctx_v1 (labels.h). 0: the runtime is older, or there is none. */
		__u64 labels;
	};
	struct pcce_entry base;
	struct pcce_entry entry[(PCCE_PAGE_SIZE - 128) / 16];
};

PCCE_ASSERT_SIZE(pcce_entry, 16);
PCCE_ASSERT_SIZE(pcce_segment, 288);
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
PCCE_ASSERT_OFFSET(pcce_page, counting, 48);
PCCE_ASSERT_OFFSET(pcce_page, jumps, 56);
PCCE_ASSERT_OFFSET(pcce_page, generation, 64);
PCCE_ASSERT_OFFSET(pcce_page, counted, 72);
PCCE_ASSERT_OFFSET(pcce_page, labels, 80);
PCCE_ASSERT_OFFSET(pcce_page, base, 112);
PCCE_ASSERT_OFFSET(pcce_page, entry, 128);

/* pcce_sample.flags */
/* The thread was in the kernel; ip and r11 are its user registers at kernel entry. */
#define PCCE_SAMPLE_KERNEL 1u
#define PCCE_SAMPLE_OUTSIDE 2u /* no announced page: only ip is meaningful */
/* Not all segments below the sampled ones could be read, or were sent, so far. */
#define PCCE_SAMPLE_TRUNCATED 4u
#define PCCE_SAMPLE_READ_FAULT 8u /* the page could not be read */
#define PCCE_SAMPLE_STACK 16u	  /* n_stack return addresses follow (verify mode) */
/* Verify mode: the unwinder stopped before the outermost frame. */
#define PCCE_SAMPLE_UNWIND_BAD 32u
/* An aggregated sample, see struct pcce_sample; in a file only in PCCE_REC_SUM. */
#define PCCE_SAMPLE_COUNTED 64u
/* Generations are names of contents, see struct pcce_sample. */
#define PCCE_SAMPLE_BY_CONTENT 512u
/* n_stack return addresses of restored frames follow: see struct pcce_sample. */
#define PCCE_SAMPLE_FRAMES 1024u
/* The frames do not reach instrumented code: outer ones are missing. */
#define PCCE_SAMPLE_FRAMES_PARTIAL 2048u
/* Between a sampler and the recorder only: a copy of the stack follows, see struct pcce_sample. */
#define PCCE_SAMPLE_COPY 4096u

/* The thread was in the kernel, and its call stack there is known: see kip below. */
#define PCCE_SAMPLE_KERNEL_STACK 262144u
/* Between a sampler and the recorder only: a sample without weight, which brings segments. */
#define PCCE_SAMPLE_CARRIER 524288u
/* Another process traces the process, or did so, and may have made it call a function. No slot
 * undoes such a call. From the sampler bpf to the recorder: the thread is being traced. */
#define PCCE_SAMPLE_TRACED 131072u
/* Between a sampler and the recorder only: a struct pcce_wait follows in place of a stack of the
 * kernel, and kip is its number of words. */
#define PCCE_SAMPLE_WAIT 1048576u
/* Between a sampler and the recorder only: the number of words of a copy of the thread's labels
 * (labels.h). They follow all else. */
#define PCCE_SAMPLE_LABELS(flags) ((flags) >> PCCE_SAMPLE_LABELS_SHIFT)
#define PCCE_SAMPLE_LABELS_SHIFT 24
#define PCCE_SAMPLE_LABELS_MASK (255u << PCCE_SAMPLE_LABELS_SHIFT)
/* Most frames of a stack of the kernel, with a reason for a wait. If it has as many functions, or
 * one less, outer ones may be missing. */
#define PCCE_KERNEL_FRAMES 127
#define PCCE_KERNEL_FRAMES_MAX (PCCE_KERNEL_FRAMES - 1)

/*
 * Why a thread had no CPU: the outermost "frame" of the kernel's stack of a wait. No function has
 * such an address.
 */
#define PCCE_WAIT_BLOCKED 1u	     /* it waits for something */
#define PCCE_WAIT_UNINTERRUPTIBLE 2u /* signals do not end the wait */
#define PCCE_WAIT_IO 3u		     /* for a disk or the like */
#define PCCE_WAIT_STOPPED 4u	     /* by a signal or a debugger */
#define PCCE_WAIT_PREEMPTED 5u	     /* it was running, and lost its CPU */
#define PCCE_WAIT_RUNNABLE 6u	     /* the wait is over, and no CPU is free */
#define PCCE_WAITS 16u		     /* all are below */

/*
 * What is known of a wait for a futex. With PCCE_ENDED_BY_HOLDER, another thread ended the wait by
 * an operation on the same futex: it unlocked a lock, signalled, posted, or ended itself. Then time
 * and tid name the sample of that thread at that moment.
 */
struct pcce_wait {
	__u64 ns;   /* how long it was, until it was ended */
	__u64 time; /* of the holder's sample */
	__u32 tid;  /* of the holder, as in its sample */
	__u32 end;  /* PCCE_ENDED_* */
};
#define PCCE_ENDED_BY_HOLDER 0u
#define PCCE_ENDED_ALONE 1u   /* by no operation on it: a timeout, a signal, or after a requeue */
#define PCCE_ENDED_OUTSIDE 2u /* by a process that is not recorded */
#define PCCE_ENDED_NEVER 3u   /* not before the recording ended */
#define PCCE_ENDED_MAX PCCE_ENDED_NEVER

/* Registers at the beginning of such a copy: rbx, rbp, r10, r12, r13, r14, r15, rdi. */
#define PCCE_COPY_REGISTERS 8
/* Most words of the stack in it. */
#define PCCE_COPY_WORDS 16384

/* Most segments that one sample carries. */
#define PCCE_SAMPLE_SEGMENTS 512

/*
 * One sample, as every sampler delivers it and as pcce.data stores it: 104 bytes, and then
 *
 *  - n_entries entries of the current segment, oldest first;
 *  - n_segments of struct pcce_segment, oldest first;
 *  - with PCCE_SAMPLE_STACK, n_stack run-time addresses (u64), innermost first; the first one is
 *    ip;
 *  - with PCCE_SAMPLE_FRAMES, n_stack return addresses (u64), innermost first. The first one is
 *    that of the function at ip. The last one is in instrumented code, unless
 *    PCCE_SAMPLE_FRAMES_PARTIAL is set;
 *  - with PCCE_SAMPLE_COPY, n_stack words: PCCE_COPY_REGISTERS registers, and then the stack from
 *    sp on.
 *
 * At most one of these three flags is set.
 *
 * The segments are those below the current one that no earlier sample of this thread has carried. A
 * reader keeps the segments. Its segments of index 0 .. n_below - 1 are the whole stack under two
 * conditions: below is the generation of the last one, and each base.id is the generation of the
 * segment before.
 *
 * With PCCE_SAMPLE_BY_CONTENT the same holds, but generations (below, and those in the segments)
 * are not numbers of a thread. Each is a name of the content of a segment and of all segments below
 * it, in whichever thread. The segments are those that no earlier sample of the recording has
 * carried. 0 means not known.
 *
 * With PCCE_SAMPLE_COUNTED the sample is aggregated: it represents several samples that differ only
 * in thread, CPU, time and sp. sp is their number, and weight is the sum of their weights. tid is 0
 * if they are of several threads. The other fields are those of the first sample.
 */
struct pcce_sample {
	__u64 time; /* ns, CLOCK_MONOTONIC */
	/* Process (tgid) and thread in the recorder's pid namespace. The self sampler writes tid in
	 * the process's own pid namespace. */
	__u32 pid;
	__u32 tid;
	__u64 ip;  /* user-space instruction pointer */
	__u64 r11; /* user-space r11: names the site while ip is in a push or pop helper */
	__u64 id;
	__u64 ext;
	__u32 flags;	  /* PCCE_SAMPLE_* */
	__u32 weight;	  /* number of events that this sample represents; at least 1 */
	__u32 n_entries;  /* entries that follow: at most PCCE_SEGMENT_ENTRIES */
	__u32 n_segments; /* segments that follow: at most PCCE_SAMPLE_SEGMENTS */
	__u32 n_below;	  /* complete segments below the current one */
	__u32 n_stack;
	__u32 event; /* index of the event that was sampled; 0 with one event */
	__u32 cpu;
	/* User-space stack pointer; with PCCE_SAMPLE_COUNTED, the number of samples. */
	__u64 sp;
	__u64 below; /* generation of the segment below the current one; 0 if n_below is 0 */
	/* The kernel's instruction pointer if the thread was in the kernel; 0: unknown, or not in
	 * the kernel. With PCCE_SAMPLE_KERNEL_STACK it is the number of the kernel's stack in the
	 * recording. From a sampler to the recorder, it is the number of frames (u64) that follow
	 * all else: innermost first, the instruction pointer and then return addresses. */
	__u64 kip;
};

PCCE_ASSERT_SIZE(pcce_wait, 24);
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
