/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines what pcce-record --count and the code that it puts into the program share.
 *
 * The counting engine (userlib/count/engine.h) is position-independent code with one page of data,
 * struct pcce_count_config. pcce-record writes both into the process before the program's first
 * instruction (lib/count/inject.c). Each entry into an instrumented function then calls the
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
 *
 * Libraries are changed by the process itself, whenever the dynamic linker has loaded some and not
 * yet executed them (userlib/count/modules.c). pcce-record tells it how: a *request* has the load
 * addresses of new libraries, and is answered with one struct pcce_count_code for each library that
 * is to be counted. These are in the area, too. Places of all modules have numbers of their own.
 */
#ifndef PCCE_COUNTING_H
#define PCCE_COUNTING_H

#include <linux/types.h>
#include <pcce/assert.h>
#include <pcce/duration.h>

#define PCCE_COUNT_MAGIC 0x544e554f43434350ULL /* "PCCCOUNT" */
#define PCCE_COUNT_UNIT 32		       /* bytes */
#define PCCE_COUNT_BLOCK 2048		       /* bytes */
#define PCCE_COUNT_UNITS (PCCE_COUNT_BLOCK / PCCE_COUNT_UNIT)
#define PCCE_COUNT_THREADS 65536 /* with numbers; all further ones share the last number */
#define PCCE_COUNT_REQUESTS 64
#define PCCE_COUNT_BASES 508 /* libraries in one request */

struct pcce_count_node {
	__u32 parent; /* number of a unit */
	__u32 depth;  /* entries, itself included; written last; 0: not complete */
	__u64 id;     /* as in struct pcce_entry */
	/* As in struct pcce_entry. PCCE_COUNT_UNTRUSTED is inverted in special entries, and in
	 * entries of modules that are not counted. If a signal has interrupted the engine, the
	 * address is in the stub of the place that was being counted. */
	__u64 site;
	__u64 parent_address; /* in the process */
};

#define PCCE_COUNT_UNTRUSTED (1ULL << 47)
#define PCCE_COUNT_IN_STUB 16 /* offset in a stub: the id is that of the function */
#define PCCE_COUNT_ROOT 2     /* number of the root */

/* A thread of one process. */
struct pcce_count_thread {
	__u32 tid;     /* as in struct pcce_page; 0: not known */
	__u32 process; /* the number of the process's first thread that counted */
	/* In a process's first thread: pcce_count_modules.loads of the process. Only grows. */
	__u32 loads;
	__u32 reserved;
};

/* pcce_count_request.state */
#define PCCE_COUNT_FREE 0u
#define PCCE_COUNT_TAKEN 1u /* a process writes the request */
#define PCCE_COUNT_ASKED 2u
#define PCCE_COUNT_ANSWERED 3u

/* If a process waits in vain, its request keeps its state. */
struct pcce_count_request {
	__u32 state; /* a futex */
	__u32 pid;   /* in the process's own pid namespace */
	__u64 area;  /* where the process has the area */
	__u32 loads; /* pcce_count_modules.loads; the answer has the new value */
	__u32 n;
	__u64 reserved;
	/* Load addresses of libraries. In the answer, each is replaced by the offset of a struct
	 * pcce_count_code in the area, or by 0: the library is not counted. */
	__u64 base[PCCE_COUNT_BASES];
};

struct pcce_count_area {
	__u64 magic;	 /* written by pcce-record */
	__u64 size;	 /* bytes, written by pcce-record */
	__u64 used;	 /* bytes given out, from the start; atomic. May exceed size */
	__u64 lost;	 /* entries that are not counted; atomic */
	__u64 foreign;	 /* not 0: contexts lead through libraries that are not counted */
	__u64 old;	 /* not 0: the program's runtime is too old, and nothing was counted */
	__u32 n_threads; /* atomic; may exceed PCCE_COUNT_THREADS */
	/* Written by pcce-record --burst: the number of the burst; 0 between two bursts, when the
	 * code that calls the engine skips it. */
	__u32 burst;
	__u64 skipped;		     /* bursts of threads that were skipped; atomic */
	struct pcce_count_node root; /* site: PCCE_MARK_WORD; all else is 0 */
	struct pcce_count_thread thread[PCCE_COUNT_THREADS];
	/* The thread of pcce-record that answers requests, as long as it does; else 0. If it dies,
	 * the kernel adds PCCE_COUNT_DIED. */
	__u32 answers;
	__u32 asked;	 /* requests so far; atomic; a futex */
	__u32 unheard;	 /* libraries that are not counted since nobody answered; atomic */
	__u32 unwritten; /* libraries that are not counted since their code could not change */
	__u32 reserved[12];
	struct pcce_count_request request[PCCE_COUNT_REQUESTS];
};

#define PCCE_COUNT_DIED 0x40000000u

/* pcce_count_block.kind */
#define PCCE_COUNT_NODES 1u
#define PCCE_COUNT_COUNTERS 2u
#define PCCE_COUNT_HOT_NODES 3u	   /* wide */
#define PCCE_COUNT_HOT_COUNTERS 4u /* wide */
#define PCCE_COUNT_CODE 5u	   /* the first of `used` blocks with a struct pcce_count_code */
#define PCCE_COUNT_TIMED_COUNTERS 6u
#define PCCE_COUNT_BUCKETS 7u

/* Bytes of a unit. The first one of a block is its head. */
static inline __u32 pcce_count_unit_size(__u32 kind)
{
	switch (kind) {
	case PCCE_COUNT_HOT_NODES:
	case PCCE_COUNT_HOT_COUNTERS:
		return 2 * PCCE_COUNT_UNIT; /* wide */
	case PCCE_COUNT_TIMED_COUNTERS:
		return 8 * PCCE_COUNT_UNIT;
	case PCCE_COUNT_BUCKETS:
		return 4 * PCCE_COUNT_UNIT;
	default:
		return PCCE_COUNT_UNIT;
	}
}

struct pcce_count_block {
	__u32 kind; /* 0: the block was never put to use */
	/* Units given out, without this one; may exceed the block's. PCCE_COUNT_CODE: blocks. */
	__u32 used;
	__u32 thread; /* index */
	__u32 before; /* number of a unit: the thread's block of this kind before it; 0: none */
	__u64 reserved[2];
};

/* Aligned to 16 bytes. Its first two words become complete in one instruction. */
struct pcce_count_counter {
	__u32 node;  /* number of a unit */
	__u32 place; /* 1 + index of the place; 0: not complete */
	__u64 count;
	__u64 id;  /* after the entry */
	__u64 ext; /* the same */
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

/*
 * A counter of executions whose durations are known (--latency), in ns. Each counted entry has
 * ended, has no end, was left, or has not ended. The buckets are those of pcce_duration_bucket():
 * 16 in each unit of the kind PCCE_COUNT_BUCKETS.
 */
struct pcce_count_timed_counter {
	struct pcce_count_counter counter;
	__u64 ended, sum, min, max;
	__u64 no_end; /* called by code whose returns are not seen */
	__u64 left;   /* by a jump or an exception, or with a switch of the stack */
	__u64 reserved[2];
	__u32 buckets[PCCE_DURATION_GROUPS]; /* numbers of units; 0: none */
};

/* A change of a library's code, with what must be there before. */
struct pcce_count_change {
	__u64 address;
	__u8 n; /* bytes */
	__u8 before[5];
	__u8 after[5];
	__u8 reserved[5];
};

/*
 * How a library is counted, in a process that has it at one place. Addresses are those of the
 * process. `bytes` bytes of engine address and stubs follow, and then the changes. All this is
 * written by pcce-record. Only `loose` changes afterwards.
 */
struct pcce_count_code {
	struct pcce_count_block block;
	__u64 text; /* the library's code: [text, text_end) */
	__u64 text_end;
	__u64 got;	/* of the offset of the thread page that the library uses */
	__u64 map;	/* where the bytes go, in memory that the process maps there */
	__u64 map_size; /* a multiple of the page size */
	__u64 burst;	/* where the first page of the area goes; 0: nowhere */
	__u64 stubs;	/* the first one; all have pcce_count_config.stub_size */
	__u32 first;	/* number of the first place */
	__u32 n_places;
	__u32 bytes; /* a multiple of 8 */
	__u32 n_changes;
	/* Written by a process if it is not certain that what is at the addresses is this library:
	 * it has other code, or was closed and the addresses could not be reserved. */
	__u64 loose;
};

/* pcce_count_module.state */
#define PCCE_COUNT_CLOSED 0u /* and its place is not reserved */
#define PCCE_COUNT_OPEN 1u
#define PCCE_COUNT_RESERVED 2u /* closed, and nothing else can come to its place */

/* A library that is counted, or was until it was closed. */
struct pcce_count_module {
	__u64 text;
	__u64 text_end;
	__u64 got;
	__u64 stubs;
	__u32 first;
	__u32 n_places;
	__u64 code;  /* offset of the struct pcce_count_code in the area */
	__u64 state; /* PCCE_COUNT_OPEN and so on */
};

/* A library that the process has asked about. */
struct pcce_count_known {
	__u64 base;
	__u64 dynamic; /* its dynamic section */
	__u32 module;  /* 1 + index; 0: it is not counted */
	__u32 seen;
};

#define PCCE_COUNT_MODULES 8192

/* What a process knows of its libraries. A forked child has a copy. */
struct pcce_count_modules {
	__u32 n_modules; /* atomic; only grows */
	__u32 n_known;
	/* The set of libraries that the process has counted: a number that pcce-record gives. */
	__u32 loads;
	__u32 mute; /* not 0: a request was not answered, and there will be no other one */
	struct pcce_count_module module[PCCE_COUNT_MODULES];
	struct pcce_count_known known[PCCE_COUNT_MODULES];
};

/* Where the engine's functions and its configuration are, from its start. */
struct pcce_count_head {
	__u64 magic; /* PCCE_COUNT_MAGIC */
	/* void count(void): r11 has 1 + the index of the place that was entered; 0: the entry is
	 * lost. It keeps all registers except flags. */
	__u64 count;
	__u64 empty; /* like count, but counts nothing */
	__u64 hot;   /* like count, and each thread has pcce_count_config.counters */
	/* count and hot for a program that is counted in bursts: */
	__u64 count_burst;
	__u64 hot_burst;
	/* hot and hot_burst, if pcce_count_config.lossy is not 0: */
	__u64 lossy;
	__u64 lossy_burst;
	__u64 adaptive; /* count_burst, if pcce_count_config.every is not 0 */
	__u64 config;
	__u64 end;
	__u64 begin; /* the engine, behind the code that changes libraries */
	/* void modules(void): the dynamic linker has loaded or closed libraries */
	__u64 modules;
	/* pcce_count_config.function, of a process that has no thread page at its start */
	__u64 late;
	/* Of --latency: like count; at the end of a call, with PCCE_COUNT_END in r11; and after a
	 * jump or an exception. They keep all registers except flags, the second r10, too. */
	__u64 latency, latency_end, latency_jump;
};

/* With this bit, r11 is no place, but the number of a changed after-slot. */
#define PCCE_COUNT_END 0x80000000u
#define PCCE_COUNT_END_STUB 96	 /* bytes of the stub of an after-slot */
#define PCCE_COUNT_END_RETURN 11 /* offset behind its call of the engine */

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
	/* The offset of the thread page from %fs; 0: not known yet. The engine finds it then, and
	 * may write to this structure. */
	__s64 tpoff;
	/* How many counters a thread has, from 1 to 2^32 - 1; 0: as many as it needs. If lossy is
	 * not 0, a thread does not have this number, but frees some after this number of calls. */
	__u64 counters;
	__u64 lossy;
	/* Not 0: of this number of bursts of a thread that begin in one context, it counts one. */
	__u64 every;
	__u64 places;	/* of the executable */
	__u64 modules;	/* struct pcce_count_modules; begins as zeros */
	__u64 debug;	/* the dynamic linker's struct r_debug */
	__u64 function; /* of the engine: the one that counts */
	/* Of --latency: the stubs of after-slots, [ends, ends_end), and the length of a cycle of
	 * the time stamp counter, in 2^-32 ns. */
	__u64 ends;
	__u64 ends_end;
	__u64 cycle;
};

PCCE_ASSERT_SIZE(pcce_count_thread, 16);
PCCE_ASSERT_SIZE(pcce_count_request, 4096);
PCCE_ASSERT_SIZE(pcce_count_area, 160 + 16 * PCCE_COUNT_THREADS + 4096 * PCCE_COUNT_REQUESTS);
PCCE_ASSERT_OFFSET(pcce_count_area, root, PCCE_COUNT_ROOT *PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_block, PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_node, PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_counter, PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_hot_node, 2 * PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_hot_counter, 2 * PCCE_COUNT_UNIT);
PCCE_ASSERT_OFFSET(pcce_count_area, burst, 52);
PCCE_ASSERT_SIZE(pcce_count_timed_counter, 8 * PCCE_COUNT_UNIT);
PCCE_ASSERT_SIZE(pcce_count_head, 136);
PCCE_ASSERT_SIZE(pcce_count_config, 160);
PCCE_ASSERT_SIZE(pcce_count_change, 24);
PCCE_ASSERT_SIZE(pcce_count_code, 112);
PCCE_ASSERT_SIZE(pcce_count_module, 56);
PCCE_ASSERT_SIZE(pcce_count_known, 24);

#endif
