/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the records of pcce.data, a recording. docs/data-format.md specifies it in prose.
 *
 * pcce-record and pcce-merge write it. A file is struct pcce_file_header and then records until its
 * end. A complete recording ends with PCCE_REC_END. A recording that was cut off (crash, full disk)
 * is readable up to its last complete record.
 *
 * All numbers are little-endian. Every record begins at a multiple of 8 bytes, and its size is a
 * multiple of 8. Times are ns of CLOCK_MONOTONIC.
 *
 * Strings are NUL-terminated. They are at the end of their record, in the order of the struct's
 * comment; zeros follow up to a multiple of 8.
 */
#ifndef PCCE_DATAFILE_H
#define PCCE_DATAFILE_H

#include <pcce/abi.h>

#define PCCE_FILE_MAGIC 0x4154414445434350ULL /* "PCCEDATA" */
/* Before version 5 segments had 32 entries. */
#define PCCE_FILE_VERSION 5
#define PCCE_FILE_BYTE_ORDER 0x01020304u

struct pcce_file_header {
	__u64 magic;
	__u32 version;	   /* a reader refuses unknown versions, and reports the number */
	__u32 header_size; /* offset of the first record */
	__u32 byte_order;  /* PCCE_FILE_BYTE_ORDER as the writer stores it */
	__u32 reserved;
	__u64 features; /* PCCE_FEATURE_*: what a reader must understand */
};
#define PCCE_FEATURE_PACKED 1u /* there are PCCE_REC_PACKED records */

enum pcce_record_type {
	PCCE_REC_INFO = 1,
	PCCE_REC_PROCESS = 2,
	PCCE_REC_THREAD = 3,
	PCCE_REC_MODULE = 4,
	PCCE_REC_MAP = 5,
	PCCE_REC_TABLE = 6,
	PCCE_REC_SAMPLE = 7,
	PCCE_REC_LOST = 8,
	PCCE_REC_SYMBOL = 9,
	PCCE_REC_END = 10,
	PCCE_REC_SUM = 11,
	PCCE_REC_DUE = 12,
	PCCE_REC_FRAMES = 13,
	PCCE_REC_HOT = 14,
	PCCE_REC_CONTEXT = 15,
	PCCE_REC_ONLY = 17,
	PCCE_REC_EVENT = 18,
	PCCE_REC_KERNEL_STACK = 19,
	PCCE_REC_WAIT = 20,
	PCCE_REC_LABELS = 21,
	PCCE_REC_LABELED = 22,
	PCCE_REC_DURATIONS = 23,
	PCCE_REC_PACKED = 24
};

struct pcce_record {
	__u32 type; /* enum pcce_record_type; a reader skips and counts unknown ones */
	__u32 size; /* bytes, with this header and padding; at most PCCE_RECORD_MAX */
	__u32 crc;  /* zlib crc32 of the record with this field 0 */
	__u32 reserved;
};
#define PCCE_RECORD_MAX (256u << 20)

/* Whole records, compressed (RFC 1951). `packed` bytes follow. The records in it have no checksums
 * (crc is 0), and none of them is packed. */
struct pcce_rec_packed {
	struct pcce_record rec;
	__u32 packed;
	__u32 unpacked; /* bytes of the records, at most PCCE_RECORD_MAX */
};

/* The first record. Strings: sampler, event, command line, host, kernel release. */
struct pcce_rec_info {
	struct pcce_record rec;
	__u64 start_time; /* ns, CLOCK_MONOTONIC */
	__u64 wall_time;  /* ns since 1970 at start_time */
	__u64 frequency;  /* Hz; 0 if period is set */
	__u64 period;
	__u32 flags; /* PCCE_INFO_* */
	__u32 reserved;
};
#define PCCE_INFO_VERIFY 1u
#define PCCE_INFO_FRAMES 2u /* frames of uninstrumented code were restored */
/* There are two events. The first one are calls, which were all counted: its period is 1.
 * frequency and period are those of the other. */
#define PCCE_INFO_CALLS 4u

/* The rate of one event, if there are several: one record for each of them, before all samples. */
struct pcce_rec_event {
	struct pcce_record rec;
	__u64 frequency; /* Hz; 0 if period is set */
	__u64 period;
	__u32 event; /* as in struct pcce_sample */
	__u32 reserved;
};

/* A process began, was found, or executed a program. Strings: comm. */
struct pcce_rec_process {
	struct pcce_record rec;
	__u64 time;
	__u32 pid;
	__u32 ppid;  /* 0 if unknown */
	__u32 flags; /* PCCE_PROCESS_* */
	__u32 reserved;
};
#define PCCE_PROCESS_EXEC 1u /* exec: all mappings before it are gone */
#define PCCE_PROCESS_FORK 2u /* fork: the mappings are those of the parent at that time */

/* A thread began or was named. Strings: comm. */
struct pcce_rec_thread {
	struct pcce_record rec;
	__u64 time;
	__u32 pid;
	__u32 tid;
};

/* An ELF file, or PCCE_MODULE_KERNEL. Strings: path. */
struct pcce_rec_module {
	struct pcce_record rec;
	__u32 module;	     /* index, from 0 upwards */
	__u32 build_id_size; /* bytes; 0 if it has none */
	__u8 build_id[32];
};

/* Executable memory of a module. */
struct pcce_rec_map {
	struct pcce_record rec;
	__u64 time;
	__u64 start; /* run-time address */
	__u64 length;
	__u64 vaddr; /* link-time virtual address of start */
	__u32 pid;
	__u32 module; /* PCCE_MODULE_NONE: unmapped, or not a file */
};
#define PCCE_MODULE_NONE 0xffffffffu
/* The path of the module that represents the kernel. The addresses of its symbols are the kip of
 * samples, and frames of the kernel's stacks; it has no mapping. */
#define PCCE_MODULE_KERNEL "[kernel]"

/* An encoding table; the module's .pcce section follows. */
struct pcce_rec_table {
	struct pcce_record rec;
	__u32 module;
	__u32 reserved;
};

/* A sample; the entries, segments and addresses of struct pcce_sample follow. */
struct pcce_rec_sample {
	struct pcce_record rec;
	struct pcce_sample sample;
};

/* A call stack of the kernel, before the first sample that has its number. n frames (u64) follow,
 * innermost first: an instruction pointer, and then addresses in calls (return address - 1). */
struct pcce_rec_kernel_stack {
	struct pcce_record rec;
	__u32 number; /* from 0 upwards */
	__u32 n;      /* at least 1, at most PCCE_KERNEL_FRAMES */
};

/* How the wait for a futex ended which the next record, a sample, is of. */
struct pcce_rec_wait {
	struct pcce_record rec;
	struct pcce_wait wait;
};

/* The labels of a thread, before the first sample that has them. For each of n labels its key and
 * its value follow, with a NUL each, sorted by key: `bytes` bytes. */
struct pcce_rec_labels {
	struct pcce_record rec;
	__u32 number;	/* from 0 upwards */
	__u32 n;	/* may be 0 */
	__u8 trace[16]; /* as in W3C Trace Context; 0: none */
	__u8 span[8];
	__u32 flags; /* PCCE_LABELS_* */
	__u32 bytes;
};
#define PCCE_LABELS_INCOMPLETE 1u /* the thread had more labels, which could not be read */

/* The next sample, of any type, has labels. Only a PCCE_REC_WAIT may be in between. */
struct pcce_rec_labeled {
	struct pcce_record rec;
	__u32 number;
	__u32 reserved;
};

/* Durations in one bucket (duration.h). */
struct pcce_duration_count {
	__u32 bucket;
	__u32 reserved;
	__u64 count;
};

/* Executions of a function in one context, in ns. The buckets follow, in order: their counts add up
 * to ended. min and max are 0 if that is 0. */
struct pcce_durations {
	__u64 ended;
	__u64 sum;
	__u64 min;
	__u64 max;
	__u64 no_end; /* called by code whose returns are not seen */
	__u64 left;   /* by a jump or an exception, or with a switch of the stack */
	__u32 n;      /* buckets */
	__u32 reserved;
};

/* The durations of the calls that the next record counts, a SUM. */
struct pcce_rec_durations {
	struct pcce_record rec;
	struct pcce_durations durations;
};

enum pcce_loss {
	PCCE_LOSS_RING = 1,	/* the ring buffer was full */
	PCCE_LOSS_THROTTLE = 2, /* the kernel throttled the event */
	PCCE_LOSS_SHAPE = 3,	/* a record was malformed */
	/* A BPF program was already running on the CPU, so the kernel did not run the sampler's. */
	PCCE_LOSS_NESTED = 4,
	/* The clock or the counter of the event has it, and nothing says where it is. */
	PCCE_LOSS_UNEXPLAINED = 5,
	/* The timer of a clock ran late, and the kernel left out the periods that had passed. */
	PCCE_LOSS_LATE = 6,
	/* Sampler self: the thread ended while it blocked the signal. */
	PCCE_LOSS_BLOCKED = 7,
	/* The file system had only room for what is written last: the counts of --count. */
	PCCE_LOSS_DISK = 8,
	/* Too many threads waited at a time. Counts waits of the others, not ticks. */
	PCCE_LOSS_CROWD = 9,
	/* An allocation or a free was not followed, so what is live is not exact. */
	PCCE_LOSS_UNFOLLOWED = 10
};
#define PCCE_LOSS_MAX PCCE_LOSS_UNFOLLOWED

struct pcce_rec_lost {
	struct pcce_record rec;
	__u64 time;
	__u64 count;
	__u32 reason; /* enum pcce_loss */
	__u32 event;  /* as in struct pcce_sample */
};

/* How many samples were due, by the clock or the counter of the event. All records add up. Without
 * one, it is not known. due = taken + lost + merged + kernel; taken samples are those of the
 * recording and those that --only left out. */
struct pcce_rec_due {
	struct pcce_record rec;
	__u64 time;
	__u64 due;
	__u64 merged; /* another sample has their weight */
	__u64 kernel; /* the thread was in the kernel, where the sampler takes none */
	__u32 flags;  /* PCCE_DUE_* */
	__u32 event;  /* as in struct pcce_sample */
};
#define PCCE_DUE_UNKNOWN 1u /* due is not known; it is 0 */

/* Samples whose contexts do not fit an expression were left out (--only). The first record comes
 * before all samples. All add up, and have one expression. Strings: the expression. */
struct pcce_rec_only {
	struct pcce_record rec;
	__u64 time;
	__u64 unknown;	/* samples of the recording of which nobody knows whether they fit */
	__u64 left_out; /* samples that were taken, and do not fit */
	__u64 left_out_weight;
};

/* What restoring the frames of uninstrumented code took. All records add up. */
struct pcce_rec_frames {
	struct pcce_record rec;
	__u64 time;
	__u64 unwound; /* frames */
	__u64 reused;  /* frames that were the same in the sample before */
	__u64 copied;  /* bytes of stacks and registers that the sampler brought */
};

/* The meaning of an address, found when recording ended: one frame of a chain of inlined functions.
 * The records of one address are adjacent, innermost frame first. Strings: function, file ("" if
 * unknown). */
struct pcce_rec_symbol {
	struct pcce_record rec;
	__u64 vaddr;  /* link-time address in the module: a sample's ip or a call */
	__u64 symbol; /* link-time start of the function's symbol, 0 if unknown */
	__u32 module;
	__u32 line;  /* 0 if unknown */
	__u32 depth; /* 0 for the innermost */
	__u32 flags; /* PCCE_SYMBOL_* */
};
#define PCCE_SYMBOL_INLINED 1u /* this frame is inlined into that of the next record */

/* An aggregated sample, made by pcce-merge or of calls. The entries and segments of struct
 * pcce_sample follow; the number of segments is not limited. */
struct pcce_rec_sum {
	struct pcce_record rec;
	__u64 samples;
	__u64 weight;		   /* sum of the weights; the weight of `sample` is 0 */
	struct pcce_sample sample; /* its time is that of the first sample */
};

/* A summary in bounded memory, which --hot makes: all its contexts are PCCE_REC_CONTEXT records. At
 * most one. */
struct pcce_rec_hot {
	struct pcce_record rec;
	__u64 time;
	__u64 samples;	/* all that were taken, kept or not */
	__u64 weight;	/* N: the sum of their weights */
	__u64 offset;	/* the most weight of a context that is not kept: at most epsilon N */
	__u64 phi;	/* bits of an IEEE 754 double: contexts of at least phi N are kept */
	__u64 epsilon;	/* bits of a double: below phi */
	__u32 counters; /* that give this epsilon: 1 / epsilon, rounded up */
	__u32 flags;	/* PCCE_HOT_* */
};

/* A context has a record for each thread, with a key of its own. What the summary says of contexts
 * is true of a context in one thread. */
#define PCCE_HOT_PER_THREAD 1u

/*
 * A context of a summary, or a part of one. Parts of a context have the same key, and add up:
 * weight W and error E. Its true weight is at least W and at most W + E. The entries and segments
 * of struct pcce_sample follow, as in PCCE_REC_SUM.
 *
 * A context is its chain of calls and its innermost function. Its sample is the first one, so ip is
 * one of several in that function. tid is 0 if samples are of several threads.
 *
 * With PCCE_SAMPLE_COLD in its flags, it is no context: it counts the samples of all contexts that
 * are not kept, and what is missing from those that are. So all parts add up to N.
 */
struct pcce_rec_context {
	struct pcce_record rec;
	__u64 samples;
	__u64 weight;		   /* sum of the weights; the weight of `sample` is 0 */
	__u64 error;		   /* most weight that may be missing */
	__u64 key[2];		   /* names the context, equal in all recordings of one build */
	struct pcce_sample sample; /* its time is that of the first sample */
};

/* More values of pcce_sample.flags. Only in PCCE_REC_CONTEXT: */
#define PCCE_SAMPLE_COLD 8192u
/* Only there and in PCCE_REC_SUM. The instruction is one of several in the innermost function,
 * which may have other lines and other inlined functions. */
#define PCCE_SAMPLE_IP_MIXED 16384u
/* In SAMPLE and SUM. The thread was counting an entry into the function at ip: this code is called
 * by the function. */
#define PCCE_SAMPLE_COUNTING 32768u
/* In SAMPLE and SUM. Calls were not counted at this time, which was between two bursts. */
#define PCCE_SAMPLE_BETWEEN 65536u

struct pcce_rec_end {
	struct pcce_record rec;
	__u64 time;
	__u64 samples;
	__u64 lost;
	__s32 exit_status; /* of the command, as wait(2) reports it; -1 with -p */
	__u32 reserved;
};

PCCE_ASSERT_SIZE(pcce_file_header, 32);
PCCE_ASSERT_SIZE(pcce_record, 16);
PCCE_ASSERT_SIZE(pcce_rec_info, 56);
PCCE_ASSERT_SIZE(pcce_rec_event, 40);
PCCE_ASSERT_SIZE(pcce_rec_process, 40);
PCCE_ASSERT_SIZE(pcce_rec_thread, 32);
PCCE_ASSERT_SIZE(pcce_rec_module, 56);
PCCE_ASSERT_SIZE(pcce_rec_map, 56);
PCCE_ASSERT_SIZE(pcce_rec_table, 24);
PCCE_ASSERT_SIZE(pcce_rec_sample, 120);
PCCE_ASSERT_SIZE(pcce_rec_kernel_stack, 24);
PCCE_ASSERT_SIZE(pcce_rec_wait, 40);
PCCE_ASSERT_SIZE(pcce_rec_labels, 56);
PCCE_ASSERT_SIZE(pcce_rec_labeled, 24);
PCCE_ASSERT_SIZE(pcce_duration_count, 16);
PCCE_ASSERT_SIZE(pcce_rec_durations, 72);
PCCE_ASSERT_SIZE(pcce_rec_lost, 40);
PCCE_ASSERT_SIZE(pcce_rec_due, 56);
PCCE_ASSERT_SIZE(pcce_rec_frames, 48);
PCCE_ASSERT_SIZE(pcce_rec_symbol, 48);
PCCE_ASSERT_SIZE(pcce_rec_end, 48);
PCCE_ASSERT_SIZE(pcce_rec_sum, 136);
PCCE_ASSERT_SIZE(pcce_rec_hot, 72);
PCCE_ASSERT_SIZE(pcce_rec_only, 48);
PCCE_ASSERT_SIZE(pcce_rec_context, 160);

#endif
