/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines /dev/pcce, the interface of the kernel module pcce_sampler. docs/kmod.md describes it in
 * prose, with an example.
 *
 * abi.h holds what all samplers share. This file holds only what the kernel module adds, since the
 * runtime and the BPF program also include abi.h.
 *
 * A session is one open file of /dev/pcce:
 *
 *   open         creates an empty session
 *   SETUP        says what to sample, on which event; the kernel makes the rings.  Once
 *   mmap         maps the rings, at the offsets that SETUP returned
 *   PLACES       says where thread pages may be; at any time, repeatedly
 *   START, STOP  also repeatedly
 *   ATTACH       adds one more process
 *   poll         readable when a ring holds at least the watermark
 *   close        ends the session; unmapping frees the memory
 *
 * Structs grow at their end. The request number carries the size of the struct that the caller
 * knows (_IOC_SIZE). A field that the caller does not know counts as 0. A field that the kernel
 * does not know must be 0, or the request fails with E2BIG. Unknown flags and values in reserved
 * fields are EINVAL; unknown requests are ENOTTY. Requests return 0 or -1 with errno. Several
 * threads may make requests on one session; the kernel serialises them, and a fatal signal ends the
 * wait with EINTR.
 */
#ifndef PCCE_KMOD_H
#define PCCE_KMOD_H

#include <linux/ioctl.h>
#include <pcce/abi.h>
#include <pcce/stack_blocks.h>

#define PCCE_KMOD_DEVICE "/dev/pcce"
/* The version of this interface; it changes only when something in this file is no longer true. */
#define PCCE_KMOD_VERSION 2

/* ---- INFO: what this kernel's module can do -------------------------------------- */

struct pcce_kmod_info {
	__u32 version;	     /* PCCE_KMOD_VERSION */
	__u32 page_version;  /* version of the thread pages that it reads: PCCE_PAGE_VERSION */
	__u32 sample_size;   /* sizeof(struct pcce_sample) */
	__u32 record_max;    /* PCCE_KMOD_RECORD_MAX: without a stack */
	__u64 flags;	     /* the PCCE_KMOD_* flags of SETUP that the module knows */
	__u64 max_frequency; /* Hz */
	__u32 n_cpus;	     /* rings of a session on tasks or on the system */
	/* 1: the caller may sample anything. 0: at most itself and what it starts. */
	__u32 privileged;
};
#define PCCE_KMOD_INFO_VER0 40

/* ---- SETUP ----------------------------------------------------------------------- */

enum pcce_kmod_scope {
	PCCE_KMOD_TASK = 1, /* the thread pid */
	/* All threads of the process pid, and those that they create later. */
	PCCE_KMOD_PROCESS = 2,
	PCCE_KMOD_CPU = 3,   /* whatever runs on one CPU */
	PCCE_KMOD_SYSTEM = 4 /* whatever runs on all CPUs, also on those that come on line later */
};

/* pcce_kmod_setup.flags */
/* rate is in Hz; else it is the number of events between samples. */
#define PCCE_KMOD_FREQUENCY 1u
#define PCCE_KMOD_EXCLUDE_KERNEL 2u /* do not count while in the kernel */
#define PCCE_KMOD_ON_EXEC 4u	    /* TASK, PROCESS: begin when the task does an exec */
/* The weight of a sample is the number of events that it represents; else it is 1. */
#define PCCE_KMOD_WEIGHT_PERIOD 8u
#define PCCE_KMOD_COPY_ALL 64u /* with COPY_STACKS: samples of other threads bring them, too */
/* Samples of threads with a page bring registers and the stack, see below. */
#define PCCE_KMOD_COPY_STACKS 512u
/* Samples in the kernel bring its call stack, see below. */
#define PCCE_KMOD_KERNEL_STACKS 1024u
/* Samples bring the labels of threads with a page, see below. */
#define PCCE_KMOD_LABELS 2048u
#define PCCE_KMOD_FLAGS 3663u

struct pcce_kmod_setup {
	__u32 scope; /* enum pcce_kmod_scope */
	__u32 flags; /* PCCE_KMOD_* */
	__s32 pid;   /* TASK, PROCESS: in the caller's pid namespace; 0: caller */
	__s32 cpu;   /* CPU: its number; else -1 */

	/* The event, as in perf_event_attr. Breakpoints are not supported (EOPNOTSUPP). */
	__u32 type;
	__u32 reserved0;
	__u64 config, config1, config2;
	__u64 rate; /* Hz, or events between samples (ns for the clocks) */

	/* Bytes of each ring: a power of two, PCCE_KMOD_RING_MIN to _MAX; 0:
	 * PCCE_KMOD_RING_DEFAULT. */
	__u32 ring_bytes;
	/* The session is readable when a ring holds this many bytes; 0: a quarter of the ring. */
	__u32 watermark;

	/* Set by the kernel: offsets for mmap and sizes, in bytes. */
	__u32 n_rings; /* one for each possible CPU, by its number; 1 with PCCE_KMOD_CPU */
	__u32 reserved1;
	/* struct pcce_kmod_reader[n_rings]: readable and writable. */
	__u64 reader_offset, reader_bytes;
	/* struct pcce_kmod_writer[n_rings]: read-only. */
	__u64 writer_offset, writer_bytes;
	/* The data of ring i is at data_offset + i * data_stride: read-only. */
	__u64 data_offset, data_stride;
};
#define PCCE_KMOD_SETUP_VER0 120

#define PCCE_KMOD_RING_MIN (64u << 10)
#define PCCE_KMOD_RING_MAX (16u << 20)
#define PCCE_KMOD_RING_DEFAULT (1u << 20)

/* ---- PLACES: candidates for a thread page's offset from the thread pointer ------------ */

#define PCCE_KMOD_OFFSETS 32

struct pcce_kmod_places {
	__u32 n;
	__u32 reserved;
	__s64 offsets[PCCE_KMOD_OFFSETS]; /* multiples of PCCE_PAGE_ALIGN; those from n on are 0 */
};
#define PCCE_KMOD_PLACES_VER0 264

/* ---- ATTACH: with PROCESS, to one more process, while the session runs -------------------- */

/*
 * The kernel samples the process as if it were the session's own, from now on, without ON_EXEC. It
 * gives an event to all threads of the process that have none in this session. ATTACH also works
 * for the session's own process: START may miss a thread that is just being created while its
 * creator's CPU is taken away for long. With AGAIN the kernel also tries threads that once had an
 * event: an exec of a set-uid program takes a process's events away.
 */
struct pcce_kmod_attach {
	__s32 pid;   /* in the caller's pid namespace */
	__u32 flags; /* PCCE_KMOD_ATTACH_* */
};
#define PCCE_KMOD_ATTACH_AGAIN 1u
#define PCCE_KMOD_ATTACH_VER0 8

/* ---- STATS ------------------------------------------------------------------------- */

/* pcce_kmod_stats.dropped: the reason why a sample was not delivered. */
enum pcce_kmod_drop {
	PCCE_KMOD_DROP_FULL = 0, /* there was no room */
	/* The event occurred while another one was being handled on that CPU. */
	PCCE_KMOD_DROP_NESTED = 1,
	/* CPU, SYSTEM: a CPU had just come on line, and had no event yet. An estimate by the time
	 * that this took; 1 for each time if the event is neither a clock nor has a frequency. */
	PCCE_KMOD_DROP_HOTPLUG = 2,
	PCCE_KMOD_DROP_REASONS = 8 /* size of the array, for later reasons */
};

struct pcce_kmod_stats {
	__u64 samples; /* delivered */
	/* Times that the kernel paused the event up to the next tick, because it came too often. */
	__u64 throttled;
	/* Events in tasks without user space, or in other pid namespaces: neither delivered nor
	 * lost. */
	__u64 no_user;
	/* Open perf events, without those that tasks inherit from them. */
	__u64 events;
	__u64 dropped[PCCE_KMOD_DROP_REASONS];
	/* Periods of a clock that had passed before its timer ran; the kernel left them out. */
	__u64 late;
};
#define PCCE_KMOD_STATS_VER0 96 /* up to dropped */

/* ---- the requests ----------------------------------------------------------------- */

#define PCCE_KMOD_IOC 0xce

#define PCCE_KMOD_IOC_INFO _IOR(PCCE_KMOD_IOC, 1, struct pcce_kmod_info)
#define PCCE_KMOD_IOC_SETUP _IOWR(PCCE_KMOD_IOC, 2, struct pcce_kmod_setup)
#define PCCE_KMOD_IOC_PLACES _IOW(PCCE_KMOD_IOC, 3, struct pcce_kmod_places)
#define PCCE_KMOD_IOC_START _IO(PCCE_KMOD_IOC, 4)
#define PCCE_KMOD_IOC_STOP _IO(PCCE_KMOD_IOC, 5)
#define PCCE_KMOD_IOC_STATS _IOR(PCCE_KMOD_IOC, 7, struct pcce_kmod_stats)
#define PCCE_KMOD_IOC_ATTACH _IOW(PCCE_KMOD_IOC, 8, struct pcce_kmod_attach)

/* ---- the rings ------------------------------------------------------------------- */

/*
 * A record: this header, then struct pcce_sample with its entries and segments
 * (PCCE_SAMPLE_BY_CONTENT). Handlers of the kernel write it; user space only reads it.
 */
struct pcce_kmod_record {
	__u32 size;
	__u32 type; /* PCCE_KMOD_SAMPLE; a reader skips others */
	__u64 reserved[2];
};
#define PCCE_KMOD_SAMPLE 1u
#define PCCE_KMOD_RECORD_MAX                                            \
	(sizeof(struct pcce_kmod_record) + sizeof(struct pcce_sample) + \
	 PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) +             \
	 PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment))

/*
 * With COPY_STACKS, a sample with PCCE_SAMPLE_COPY has n_stack words behind its segments: the
 * registers, and those blocks of the stack that the reader does not know, as pcce/stack_blocks.h
 * describes. There is one table for each ring. Such a record has up to PCCE_KMOD_STACK_MAX more
 * bytes, and at most half of a ring: in small rings, fewer parts. The reader's stack_bytes bounds
 * what is copied, too. A session that was started, or attached, without CAP_PERFMON brings no
 * stacks of processes that are not dumpable: their samples do not have the flag.
 */
#define PCCE_KMOD_STACK_MAX ((PCCE_COPY_REGISTERS + PCCE_STACK_SENT_WORDS) * 8)

/* With KERNEL_STACKS, a sample with PCCE_SAMPLE_KERNEL_STACK has kip frames behind all else: up to
 * this many more bytes. The other samples in the kernel have kip as without the flag. */
#define PCCE_KMOD_KERNEL_STACK_MAX (PCCE_KERNEL_FRAMES * 8)

/* With LABELS, PCCE_SAMPLE_LABELS(flags) words of labels (pcce/labels.h) are behind all else: up to
 * PCCE_LABELS_BYTES more. A session brings those of the processes whose stacks it would bring. */

/*
 * head and tail count bytes since the session was created. Position p is byte p % ring_bytes of the
 * ring's data. A record never wraps around: one that begins near the end continues beyond it, where
 * there is room, and the next record begins at the next multiple of ring_bytes.
 *
 *   head = load_acquire(&writer->head);
 *   for (tail = reader->tail; tail < head;) {
 *           at = tail % ring_bytes;
 *           record = data + at;
 *           ... use it ...
 *           tail = at + record->size >= ring_bytes ? tail - at + ring_bytes : tail + record->size;
 *   }
 *   store_release(&reader->tail, tail);
 *
 * The acquire pairs with the kernel's release of head, after it has written the records. The
 * release pairs with the kernel's acquire of tail, before it overwrites them. An impossible tail
 * makes the ring full.
 */
struct pcce_kmod_reader {
	__u64 tail;
	/* How many bytes of a stack, from sp on, samples need; 0: all. It does not matter for
	 * threads without a page, if the end of their stack is known. */
	__u64 stack_bytes;
	__u64 reserved[6];
};

struct pcce_kmod_writer {
	__u64 head;
	__u64 reserved[7];
};

PCCE_ASSERT_SIZE(pcce_kmod_info, PCCE_KMOD_INFO_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_setup, PCCE_KMOD_SETUP_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_places, PCCE_KMOD_PLACES_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_attach, PCCE_KMOD_ATTACH_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_stats, PCCE_KMOD_STATS_VER0 + 8);
PCCE_ASSERT_SIZE(pcce_kmod_record, 24);
PCCE_ASSERT_SIZE(pcce_kmod_reader, 64);
PCCE_ASSERT_SIZE(pcce_kmod_writer, 64);
PCCE_ASSERT_OFFSET(pcce_kmod_setup, type, 16);
PCCE_ASSERT_OFFSET(pcce_kmod_setup, rate, 48);
PCCE_ASSERT_OFFSET(pcce_kmod_setup, n_rings, 64);

#endif
