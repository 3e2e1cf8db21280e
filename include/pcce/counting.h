/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines what pcce-record --count and the code that it puts into the program share.
 *
 * The counting engine (userlib/count_engine.h) is position-independent code with one writable
 * page, struct pcce_count_config. pcce-record writes both into the process before the program's
 * first instruction (lib/count/inject.c). Each entry into an instrumented function then calls the
 * engine first. The engine counts it in the *area*, memory that the process and all its forked
 * children share with pcce-record. So the counts survive any end of a process.
 *
 * The area is struct pcce_count_area, and then blocks of PCCE_COUNT_BLOCK bytes, which are given
 * out one after the other and never returned. A block is 64 units of 32 bytes. Unit 0 is struct
 * pcce_count_block, the others are nodes or counters. The number of a unit is its offset in the
 * area divided by 32. A block belongs to one thread, which alone writes to it. pcce-record reads
 * the area when the command has ended.
 *
 * A *node* is an encoding stack: an entry on top of another node. The root, a part of struct
 * pcce_count_area, is the empty stack. A *counter* counts one context: the node, the place that was
 * entered, id and ext. A context can have several counters, in several threads or even in one.
 *
 * If counters are used again for other contexts, units have 64 bytes: *wide* nodes and counters. A
 * thread then means what one counts in alone: handlers that interrupt the counting have a number of
 * their own.
 */
#ifndef PCCE_COUNTING_H
#define PCCE_COUNTING_H

#include <linux/types.h>
#include <pcce/assert.h>

#define PCCE_COUNT_MAGIC 0x544e554f43434350ULL /* "PCCCOUNT" */
#define PCCE_COUNT_UNIT 32		       /* bytes */
#define PCCE_COUNT_BLOCK 2048		       /* bytes */
#define PCCE_COUNT_UNITS (PCCE_COUNT_BLOCK / PCCE_COUNT_UNIT)
#define PCCE_COUNT_THREADS 65536 /* with numbers; all further ones share the last number */

struct pcce_count_node {
	__u32 parent; /* number of a unit */
	__u32 depth;  /* entries, itself included; written last; 0: not complete */
	__u64 id;     /* as in struct pcce_entry */
	/* The same. PCCE_COUNT_UNTRUSTED is inverted in special entries, and in entries of other
	 * modules than the executable. If a signal has interrupted the engine, the address is in
	 * the stub of the place that was being counted. */
	__u64 site;
	__u64 parent_address; /* in the process */
};

#define PCCE_COUNT_UNTRUSTED (1ULL << 47)
#define PCCE_COUNT_IN_STUB 13 /* offset in a stub: the id is that of the function */
#define PCCE_COUNT_ROOT 2     /* number of the root */

/* A thread of one process. */
struct pcce_count_thread {
	__u32 tid;     /* as in struct pcce_page; 0: not known */
	__u32 process; /* the number of the process's first thread that counted */
};

struct pcce_count_area {
	__u64 magic;	 /* written by pcce-record */
	__u64 size;	 /* bytes, written by pcce-record */
	__u64 used;	 /* bytes given out, from the start; atomic. May exceed size */
	__u64 lost;	 /* entries that are not counted; atomic */
	__u64 foreign;	 /* not 0: contexts lead through instrumented shared libraries */
	__u64 old;	 /* not 0: the program's runtime is too old, and nothing was counted */
	__u32 n_threads; /* atomic; may exceed PCCE_COUNT_THREADS */
	/* Written by pcce-record --burst: the number of the burst; 0 between two bursts, when the
	 * code that calls the engine skips it. */
	__u32 burst;
	__u64 skipped;		     /* bursts of threads that were skipped; atomic */
	struct pcce_count_node root; /* site: PCCE_MARK_WORD; all else is 0 */
	struct pcce_count_thread thread[PCCE_COUNT_THREADS];
};

/* pcce_count_block.kind */
#define PCCE_COUNT_NODES 1u
#define PCCE_COUNT_COUNTERS 2u
#define PCCE_COUNT_HOT_NODES 3u	   /* wide */
#define PCCE_COUNT_HOT_COUNTERS 4u /* wide */
#define PCCE_COUNT_IS_WIDE(kind) ((kind) >= PCCE_COUNT_HOT_NODES)

struct pcce_count_block {
	__u32 kind;   /* 0: the block was never put to use */
	__u32 used;   /* units given out, without this one; may exceed the block's */
	__u32 thread; /* index */
	__u32 before; /* number of a unit: the thread's block of this kind before it; 0: none */
	__u64 reserved[2];
};

struct pcce_count_counter {
	__u32 node;  /* number of a unit */
	__u32 place; /* 1 + index of the place; 0: not complete */
	__u64 id;    /* after the entry */
	__u64 ext;   /* the same */
	__u64 count;
};

struct pcce_count_hot_node {
	struct pcce_count_node node; /* depth 0: free; parent is then the next free one */
	__u64 uses;
	__u64 reserved[3];
};

/*
 * Its context has count - others at least, and error more at most. place 0: a counter without a
 * context. Each counted call is in one counter, so all counters of a thread add up to its calls.
 */
struct pcce_count_hot_counter {
	struct pcce_count_counter counter;
	__u64 others; /* part of count: calls of the contexts that had the counter before */
	__u64 error;  /* the most that the context had before it got the counter */
	__u64 reserved[2];
};

/* Where the engine's functions and its configuration are, from its start. */
struct pcce_count_head {
	__u64 magic; /* PCCE_COUNT_MAGIC */
	/* void count(void): r11 has 1 + the index of the place that was entered; 0: the entry is
	 * lost. It keeps all registers except flags. */
	__u64 count;
	__u64 empty; /* the same, and counts nothing */
	__u64 hot;   /* the same, and each thread has pcce_count_config.counters */
	/* count and hot for a program that is counted in bursts: */
	__u64 count_burst;
	__u64 hot_burst;
	/* The same, if pcce_count_config.lossy is not 0: */
	__u64 lossy;
	__u64 lossy_burst;
	__u64 adaptive; /* count_burst, if pcce_count_config.every is not 0 */
	__u64 config;
	__u64 end;
};

/* Written by pcce-record. Addresses are those of the process. */
struct pcce_count_config {
	__u64 area;
	__u64 memory;	   /* of the process alone; MADV_WIPEONFORK; begins as zeros */
	__u64 memory_size; /* bytes */
	__u64 text;	   /* the executable's code: [text, text_end) */
	__u64 text_end;
	/* The engine, and behind it the stubs that call it: [code, stubs) and [stubs, code_end).
	 * The stub of place n is stub_size (n - 1) bytes behind the first one. */
	__u64 code;
	__u64 stubs;
	__u64 code_end;
	__u64 stub_size;
	__s64 tpoff; /* of the thread page from %fs */
	/* Of a thread, from 1 to 2^32 - 1; 0: as many as it needs. If lossy is not 0, the thread
	 * does not have this number of counters, but frees some after this number of calls. */
	__u64 counters;
	__u64 lossy;
	/* Not 0: of this number of bursts of a thread that begin in one context, it counts one. */
	__u64 every;
};

PCCE_ASSERT_SIZE(pcce_count_thread, 8);
PCCE_ASSERT_SIZE(pcce_count_area, 96 + 8 * PCCE_COUNT_THREADS);
PCCE_ASSERT_OFFSET(pcce_count_area, root, PCCE_COUNT_ROOT *PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_block, PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_node, PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_counter, PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_hot_node, 2 * PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_hot_counter, 2 * PCCE_COUNT_UNIT);
PCCE_ASSERT_OFFSET(pcce_count_area, burst, 52);
PCCE_ASSERT_SIZE(pcce_count_head, 88);
PCCE_ASSERT_SIZE(pcce_count_config, 104);

#endif
