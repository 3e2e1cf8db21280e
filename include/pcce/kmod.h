/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * /dev/pcce: what the kernel module pcce_sampler and its users agree on.  docs/kmod.md
 * says it in prose, with an example.
 *
 * (Not in abi.h, which the runtime and the BPF program include as well: it holds what
 * all samplers share, this file only what one of them adds.)
 *
 * A session is one open file of /dev/pcce:
 *
 *   open         a session without anything
 *   SETUP        what to sample, on which event; the kernel makes the rings. Once
 *   mmap         the rings, at the offsets that SETUP returned
 *   PLACES       where thread pages may be; at any time, again and again
 *   START, STOP  also repeatedly
 *   ATTACH       one more process
 *   poll         readable when a ring holds more than the watermark
 *   close        ends it; the memory goes when it is unmapped, too
 *
 * Structs grow at their end.  The size of the struct that the caller knows is in the
 * request number (_IOC_SIZE).  A field that the caller does not know of counts as 0; one
 * that the kernel does not know of must be 0, or the answer is E2BIG.  Unknown flags and
 * values in reserved fields are EINVAL, unknown requests ENOTTY.
 */
#ifndef PCCE_KMOD_H
#define PCCE_KMOD_H

#include <linux/ioctl.h>
#include <pcce/abi.h>

#define PCCE_KMOD_DEVICE "/dev/pcce"
#define PCCE_KMOD_VERSION \
	1 /* of what stands here; changes only when something is no longer true \
	   */

/* ---- INFO: what this kernel's module can do -------------------------------------- */

struct pcce_kmod_info {
	__u32 version;	     /* PCCE_KMOD_VERSION */
	__u32 page_version;  /* thread pages of this version are read: PCCE_PAGE_VERSION */
	__u32 sample_size;   /* sizeof(struct pcce_sample) */
	__u32 record_max;    /* PCCE_KMOD_RECORD_MAX */
	__u64 flags;	     /* the PCCE_KMOD_* flags of SETUP that it knows */
	__u64 max_frequency; /* Hz */
	__u32 n_cpus;	     /* rings that a session on tasks or on the system has */
	__u32 privileged; /* 1: the caller may sample anything; 0: at most itself and what it starts
			   */
};
#define PCCE_KMOD_INFO_VER0 40

/* ---- SETUP ----------------------------------------------------------------------- */

enum pcce_kmod_scope {
	PCCE_KMOD_TASK = 1, /* the thread pid */
	PCCE_KMOD_PROCESS =
		2,	     /* all threads of the process pid, and what they create from then on */
	PCCE_KMOD_CPU = 3,   /* whatever runs on one CPU */
	PCCE_KMOD_SYSTEM = 4 /* whatever runs on the CPUs that are on line at START */
};

/* pcce_kmod_setup.flags */
#define PCCE_KMOD_FREQUENCY \
	1u /* rate is in Hz; else it is the number of events from sample to sample */
#define PCCE_KMOD_EXCLUDE_KERNEL 2u /* do not count while in the kernel */
#define PCCE_KMOD_ON_EXEC 4u	    /* TASK, PROCESS: begin when the task does an exec */
#define PCCE_KMOD_WEIGHT_PERIOD \
	8u /* a sample's weight is the number of events it stands for; else it is 1 */
#define PCCE_KMOD_AGGREGATE 16u /* equal samples are counted in the kernel; see below */
#define PCCE_KMOD_FLAGS 31u

struct pcce_kmod_setup {
	__u32 scope; /* enum pcce_kmod_scope */
	__u32 flags; /* PCCE_KMOD_* */
	__s32 pid;   /* TASK, PROCESS: in the caller's pid namespace, 0: the caller; else 0 */
	__s32 cpu;   /* CPU: its number; else -1 */

	/* The event, as perf_event_attr has it; breakpoints are not supported (EOPNOTSUPP). */
	__u32 type;
	__u32 reserved0;
	__u64 config, config1, config2;
	__u64 rate; /* Hz, or events from sample to sample (ns for the clocks) */

	__u32 ring_bytes; /* of each ring: a power of two, PCCE_KMOD_RING_MIN to _MAX; 0:
			     PCCE_KMOD_RING_DEFAULT */
	__u32 watermark;  /* bytes in a ring from which on the session is readable; 0: a quarter of
			     it */

	/* Set by the kernel: offsets for mmap, and sizes in bytes. */
	__u32 n_rings; /* one for each possible CPU, by its number; one with PCCE_KMOD_CPU */
	__u32 reserved1;
	__u64 reader_offset,
		reader_bytes; /* struct pcce_kmod_reader[n_rings]: readable and writable */
	__u64 writer_offset, writer_bytes; /* struct pcce_kmod_writer[n_rings]: read-only */
	__u64 data_offset,
		data_stride;  /* the data of ring i, at data_offset + i * data_stride: read-only */
	__u64 segment_stride; /* AGGREGATE: segment s of ring i is at ... + s * segment_stride */
};
#define PCCE_KMOD_SETUP_VER0 128

#define PCCE_KMOD_RING_MIN (64u << 10)
#define PCCE_KMOD_RING_MAX (16u << 20)
#define PCCE_KMOD_RING_DEFAULT (1u << 20)

/* ---- PLACES: candidates for a thread page's offset from the thread pointer ------------ */

#define PCCE_KMOD_OFFSETS 32

struct pcce_kmod_places {
	__u32 n;
	__u32 reserved;
	__s64 offsets[PCCE_KMOD_OFFSETS]; /* multiples of PCCE_PAGE_SIZE; those from n on are 0 */
};
#define PCCE_KMOD_PLACES_VER0 264

/* ---- ATTACH: with PROCESS, to one more process, while the session runs -------------------- */

/*
 * As if it were the session's own, from now on, without ON_EXEC; all its threads that the session
 * does not have yet. Also for the session's own process: a thread that was just being created at
 * START, while its creator's CPU was taken away for long, may have been missed.  AGAIN: also those
 * that the session once had: an exec of a set-uid program takes a process's events away.
 */
struct pcce_kmod_attach {
	__s32 pid;   /* in the caller's pid namespace */
	__u32 flags; /* PCCE_KMOD_ATTACH_* */
};
#define PCCE_KMOD_ATTACH_AGAIN 1u
#define PCCE_KMOD_ATTACH_VER0 8

/* ---- ROTATE: with AGGREGATE, takes the counters ------------------------------------- */

struct pcce_kmod_rotate {
	__u32 segment; /* set: the one that may be read now, up to the next ROTATE */
	__u32 reserved;
	__u64 time; /* set: the first sample after that was not taken before this time */
};
#define PCCE_KMOD_ROTATE_VER0 16

/* ---- STATS ------------------------------------------------------------------------- */

/* pcce_kmod_stats.dropped: why a sample was not delivered. */
enum pcce_kmod_drop {
	PCCE_KMOD_DROP_FULL = 0, /* there was no room */
	PCCE_KMOD_DROP_NESTED =
		1, /* the event occurred while another one was being handled on that CPU */
	PCCE_KMOD_DROP_REASONS = 8 /* room for more */
};

struct pcce_kmod_stats {
	__u64 samples;	 /* delivered, aggregated ones each */
	__u64 throttled; /* times that the kernel paused the event up to the next tick, because it
			    came too often */
	__u64 no_user;	 /* events in tasks without user space, or in other pid namespaces: not
			    delivered, not lost */
	__u64 events; /* perf events that are open; what these inherit to new tasks is not counted
		       */
	__u64 dropped[PCCE_KMOD_DROP_REASONS];
};
#define PCCE_KMOD_STATS_VER0 96

/* ---- the requests ----------------------------------------------------------------- */

#define PCCE_KMOD_IOC 0xce

#define PCCE_KMOD_IOC_INFO _IOR(PCCE_KMOD_IOC, 1, struct pcce_kmod_info)
#define PCCE_KMOD_IOC_SETUP _IOWR(PCCE_KMOD_IOC, 2, struct pcce_kmod_setup)
#define PCCE_KMOD_IOC_PLACES _IOW(PCCE_KMOD_IOC, 3, struct pcce_kmod_places)
#define PCCE_KMOD_IOC_START _IO(PCCE_KMOD_IOC, 4)
#define PCCE_KMOD_IOC_STOP _IO(PCCE_KMOD_IOC, 5)
#define PCCE_KMOD_IOC_ROTATE _IOR(PCCE_KMOD_IOC, 6, struct pcce_kmod_rotate)
#define PCCE_KMOD_IOC_STATS _IOR(PCCE_KMOD_IOC, 7, struct pcce_kmod_stats)
#define PCCE_KMOD_IOC_ATTACH _IOW(PCCE_KMOD_IOC, 8, struct pcce_kmod_attach)

/* ---- the rings ------------------------------------------------------------------- */

/*
 * A record: this, then struct pcce_sample with its entries and segments (PCCE_SAMPLE_BY_CONTENT).
 * The size is what these take together.
 */
struct pcce_kmod_record {
	__u32 size;
	__u32 type;  /* PCCE_KMOD_SAMPLE; skip others */
	__u64 last;  /* the time of the newest sample in it */
	__u64 image; /* names what the process executes: other after exec, and for another process
			with the same pid */
};
#define PCCE_KMOD_SAMPLE 1u
#define PCCE_KMOD_RECORD_MAX                                            \
	(sizeof(struct pcce_kmod_record) + sizeof(struct pcce_sample) + \
	 PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) +             \
	 PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment))

/*
 * head and tail count bytes from the beginning of the session.  Position p is byte
 * p % ring_bytes of the ring's data.  A record never wraps around: one that begins near
 * the end goes on beyond it, where there is room for it, and the next record begins at
 * the start, at the next multiple of ring_bytes.
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
 * The acquire pairs with the kernel's release of head after it has written the records;
 * the release with the kernel's acquire of tail before it writes over them.  A tail
 * that cannot be makes the ring full.
 *
 * With AGGREGATE head and tail are not used.  Each ring has two segments; the kernel
 * adds to one of them, the other one may be read: it holds records from its start up to
 * writer->used[segment], that follow each other directly.  ROTATE makes them change
 * places.  A record stands for all samples with the same pid, image, ip, id, ext, flags and
 * encoding stack: PCCE_SAMPLE_COUNTED.  r11 is the same, too; of samples that differ in nothing
 * else, a few records are made, and then one for all others, PCCE_SAMPLE_R11_MIXED.
 */
struct pcce_kmod_reader {
	__u64 tail;
	__u64 reserved[7];
};

struct pcce_kmod_writer {
	__u64 head;
	__u64 used[2];
	__u64 reserved[5];
};

PCCE_ASSERT_SIZE(pcce_kmod_info, PCCE_KMOD_INFO_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_setup, PCCE_KMOD_SETUP_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_places, PCCE_KMOD_PLACES_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_attach, PCCE_KMOD_ATTACH_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_rotate, PCCE_KMOD_ROTATE_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_stats, PCCE_KMOD_STATS_VER0);
PCCE_ASSERT_SIZE(pcce_kmod_record, 24);
PCCE_ASSERT_SIZE(pcce_kmod_reader, 64);
PCCE_ASSERT_SIZE(pcce_kmod_writer, 64);
PCCE_ASSERT_OFFSET(pcce_kmod_setup, type, 16);
PCCE_ASSERT_OFFSET(pcce_kmod_setup, rate, 48);
PCCE_ASSERT_OFFSET(pcce_kmod_setup, n_rings, 64);
PCCE_ASSERT_OFFSET(pcce_kmod_setup, segment_stride, 120);

#endif
