/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcce.data: the recording. docs/data-format.md specifies it in prose.
 *
 * struct pcce_file_header, then records until the end of the file. A recording
 * that was cut off (crash, full disk) is readable up to its last complete record; a
 * complete one ends in PCCE_REC_END.  Little-endian; every record begins at a
 * multiple of 8 bytes and its size is a multiple of 8.
 *
 * Strings are NUL-terminated and stand at the end of their record, in the order
 * of the fields' comments, then zeros up to a multiple of 8.
 */
#ifndef PCCE_DATAFILE_H
#define PCCE_DATAFILE_H

#include <pcce/abi.h>

#define PCCE_FILE_MAGIC 0x4154414445434350ULL /* "PCCEDATA" */
#define PCCE_FILE_VERSION 4
#define PCCE_FILE_VERSION_OLDEST \
	3 /* that can still be read: stacks tell of no origins (PCCE_COUNT_ORIGIN) */
#define PCCE_FILE_BYTE_ORDER 0x01020304u

struct pcce_file_header {
	__u64 magic;
	__u32 version;	   /* a reader refuses other versions by number */
	__u32 header_size; /* records begin here */
	__u32 byte_order;  /* PCCE_FILE_BYTE_ORDER as the writer stores it */
	__u32 reserved;
	__u64 features; /* bits a reader must understand; none so far */
};

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
	PCCE_REC_SUM = 11
};

struct pcce_record {
	__u32 type; /* enum pcce_record_type; unknown ones are skipped and counted */
	__u32 size; /* with this header and padding, at most PCCE_RECORD_MAX */
	__u32 crc;  /* zlib crc32 of the record with this field 0 */
	__u32 reserved;
};
#define PCCE_RECORD_MAX (256u << 20)

struct pcce_rec_info { /* first record. strings: sampler, event, command line, host, kernel release
			*/
	struct pcce_record rec;
	__u64 start_time; /* ns, CLOCK_MONOTONIC */
	__u64 wall_time;  /* ns since 1970 at start_time */
	__u64 frequency;  /* Hz, 0 if period */
	__u64 period;
	__u32 flags; /* PCCE_INFO_* */
	__u32 reserved;
};
#define PCCE_INFO_VERIFY 1u

struct pcce_rec_process { /* a process began, was found, or did an exec. strings: comm */
	struct pcce_record rec;
	__u64 time;
	__u32 pid;
	__u32 ppid;  /* 0 if unknown */
	__u32 flags; /* PCCE_PROCESS_* */
	__u32 reserved;
};
#define PCCE_PROCESS_EXEC 1u /* exec: all mappings before are gone */
#define PCCE_PROCESS_FORK 2u /* fork: the mappings are the parent's at that time */

struct pcce_rec_thread { /* a thread began or was named. strings: comm */
	struct pcce_record rec;
	__u64 time;
	__u32 pid;
	__u32 tid;
};

struct pcce_rec_module { /* an ELF file, or PCCE_MODULE_KERNEL. strings: path */
	struct pcce_record rec;
	__u32 module;	     /* index, from 0 upwards */
	__u32 build_id_size; /* 0 if it has none */
	__u8 build_id[32];
};

struct pcce_rec_map { /* executable memory of a module. */
	struct pcce_record rec;
	__u64 time;
	__u64 start; /* run-time address */
	__u64 length;
	__u64 vaddr; /* link-time virtual address that start corresponds to */
	__u32 pid;
	__u32 module; /* PCCE_MODULE_NONE: unmapped, or not a file */
};
#define PCCE_MODULE_NONE 0xffffffffu
/* The path of the module that stands for the kernel: its symbols' addresses are samples' kip. It is
 * mapped nowhere. */
#define PCCE_MODULE_KERNEL "[kernel]"

struct pcce_rec_table { /* the module's .pcce section follows */
	struct pcce_record rec;
	__u32 module;
	__u32 reserved;
};

struct pcce_rec_sample { /* what follows a sample (struct pcce_sample) follows */
	struct pcce_record rec;
	struct pcce_sample sample;
};

enum pcce_loss {
	PCCE_LOSS_RING = 1,	/* the ring buffer was full */
	PCCE_LOSS_THROTTLE = 2, /* the kernel throttled the event */
	PCCE_LOSS_SHAPE = 3	/* a record came that is not well formed */
};

struct pcce_rec_lost {
	struct pcce_record rec;
	__u64 time;
	__u64 count;
	__u32 reason; /* enum pcce_loss */
	__u32 reserved;
};

/* What an address means, found when recording ended: one frame of an inline chain.
 * Records of one address stand together, innermost frame first. strings: function,
 * file ("" if unknown) */
struct pcce_rec_symbol {
	struct pcce_record rec;
	__u64 vaddr;  /* link-time address in the module: a sample's ip, or a call instruction */
	__u64 symbol; /* link-time start of the function's symbol, 0 if unknown */
	__u32 module;
	__u32 line;  /* 0 if unknown */
	__u32 depth; /* 0 for the innermost */
	__u32 flags; /* PCCE_SYMBOL_* */
};
#define PCCE_SYMBOL_INLINED 1u /* this frame was inlined into the next record's */

struct pcce_rec_sum { /* samples that are alike, added up, by pcce-merge or in the kernel. what
			 follows a sample follows, with any number of segments */
	struct pcce_record rec;
	__u64 samples;
	__u64 weight;		   /* of all of them; the sample's own is 0 */
	struct pcce_sample sample; /* time: of the first */
};

struct pcce_rec_end {
	struct pcce_record rec;
	__u64 time;
	__u64 samples;
	__u64 lost;
	__s32 exit_status; /* of the command, as wait(2) gives it; -1 with -p */
	__u32 reserved;
};

PCCE_ASSERT_SIZE(pcce_file_header, 32);
PCCE_ASSERT_SIZE(pcce_record, 16);
PCCE_ASSERT_SIZE(pcce_rec_info, 56);
PCCE_ASSERT_SIZE(pcce_rec_process, 40);
PCCE_ASSERT_SIZE(pcce_rec_thread, 32);
PCCE_ASSERT_SIZE(pcce_rec_module, 56);
PCCE_ASSERT_SIZE(pcce_rec_map, 56);
PCCE_ASSERT_SIZE(pcce_rec_table, 24);
PCCE_ASSERT_SIZE(pcce_rec_sample, 120);
PCCE_ASSERT_SIZE(pcce_rec_lost, 40);
PCCE_ASSERT_SIZE(pcce_rec_symbol, 48);
PCCE_ASSERT_SIZE(pcce_rec_end, 48);
PCCE_ASSERT_SIZE(pcce_rec_sum, 136);

#endif
