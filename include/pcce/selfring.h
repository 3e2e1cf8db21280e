/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the ring between a process that samples itself and the recorder.
 *
 * The ring is a file in the recorder's private directory, which both map shared. Each process image
 * has one ring: a new one after fork and after exec. The signal handlers of all its threads write
 * it, and the recorder reads it. The recorder can read what a process has written however the
 * process ends.
 *
 * Creation. The process creates the file under a name that begins with PCCE_SELF_NEW, allocates all
 * of it, and fills the header. Then it renames the file to PCCE_SELF_RING followed by 16 hex digits
 * of its start time. So sorted names are in order of creation; the rings of one pid must be read in
 * that order. The reader opens the file and unlinks it; the process unlinks nothing.
 *
 * Liveness. Each side can detect that the other is gone:
 *
 *  - Before the process closes its descriptor, it takes a shared flock() on the file. The lock
 *    lasts as long as anyone maps that open file (PCCE_SELF_LOCKED). When the reader gets an
 *    exclusive lock, nobody will write any more, whatever pid the process had in its pid namespace.
 *  - The reader holds an exclusive flock() on the file PCCE_SELF_OWNER in the directory. A process
 *    that gets a shared lock on it creates no ring.
 *  - When the ring is full and the reader has not looked at it for PCCE_SELF_PATIENCE, its writers
 *    give up.
 *
 * Layout: the header (PCCE_SELF_HEADER_SIZE bytes), then data_size bytes of data, a power of two,
 * then n_counters of struct pcce_self_counter. Positions count bytes since the ring was created,
 * and never wrap. A record at position p begins at data[p % data_size], and may wrap around the
 * end. Both sides map the data twice in a row, so they see every record in one piece.
 *
 * Writers (any number, in signal handlers, never waiting):
 *     do {
 *         p = head;
 *         if (p + size - tail > data_size) { lost += 1; give up }
 *     } while (!compare_and_swap(head, p, p + size));
 *     fill the record except its stamp;
 *     store_release(record.stamp, p + 1);
 *
 * Reader (one):
 *     while (tail < load_acquire(head)) {
 *         if (load_acquire(record at tail).stamp != tail + 1)
 *             break;          a writer has not finished, or was killed
 *         copy record.size bytes, then check the copy, then use it
 *         store_release(tail, tail + record.size);
 *     }
 *
 * When the process is dead, a missing stamp stays missing. The reader then looks for the next
 * multiple of 16 at which a record has its own position as stamp and a sensible size. It continues
 * there, and counts one lost sample.
 *
 * The reader cannot trust anything in a ring: it copies first, and checks the copy.
 *
 * Counters. Where every allocation counts, the process has a counter for each context of each
 * thread. The first allocation of a context takes a counter, and puts one record into the ring that
 * says what the counter means. From then on the process adds to the counter alone. The reader takes
 * the sums when no process can write any more, however that came about. So nothing is lost if the
 * ring is slow, and a process that is killed has its sums.
 *
 * Each counter also has what is live in its context, what was live when the process had most, and
 * what was freed before its thread allocated again. Until the counter changes again, what is live
 * in it is also its part of the peak; userlib/malloc/ledger.c says how this works. Where
 * allocations are sampled by bytes, each sample has a record in the ring, and counters have these
 * sums alone.
 */
#ifndef PCCE_SELFRING_H
#define PCCE_SELFRING_H

#include <signal.h>
#include <pcce/abi.h>

/*
 * The environment variable that activates the self sampler:
 * PCCE_SELF=<directory>:<nanoseconds of CPU time between samples>:<flags>
 * The flags are letters in any order; unknown ones are ignored.
 */
#define PCCE_SELF_ENV "PCCE_SELF"
#define PCCE_SELF_FLAG_VERIFY 'v'     /* add the real stack to samples */
#define PCCE_SELF_FLAG_TASK_CLOCK 't' /* count task-clock instead of cpu-clock */
#define PCCE_SELF_FLAG_COPY 'c'	      /* add a copy of the stack to samples */
#define PCCE_SELF_FLAG_TIMER 'p'      /* use the POSIX timer even if perf_event_open works */
#define PCCE_SELF_FLAG_LABELS 'l'     /* add the thread's labels to samples */
/* Followed by the decimal number of the signal that samples; without it, PCCE_SELF_SIGNAL. */
#define PCCE_SELF_FLAG_SIGNAL 's'
/* Sample allocations (allocation.h) instead of CPU time. Followed by the decimal number of bytes
 * between samples; 1: every allocation. The interval is then so long that an older runtime, which
 * does not know the flag, takes no samples. */
#define PCCE_SELF_FLAG_MALLOC 'm'

#define PCCE_SELF_SIGNAL SIGWINCH

#define PCCE_SELF_NEW "new-"
#define PCCE_SELF_RING "ring-"
#define PCCE_SELF_OWNER "owner"

#define PCCE_SELF_MAGIC 0x31474e5245434350ULL /* "PCCERNG1" */
#define PCCE_SELF_VERSION 4
#define PCCE_SELF_HEADER_SIZE 4096
#define PCCE_SELF_DATA_MIN (256u << 10)
#define PCCE_SELF_DATA_MAX (64u << 20)

#define PCCE_SELF_PATIENCE 10000000000ULL /* ns */

/* Most addresses of a real stack. */
#define PCCE_SELF_STACK 4096
#define PCCE_SELF_LABELS 80 /* most words of labels (labels.h) */
/* Most words of a stack that is copied. */
#define PCCE_SELF_COPY_WORDS 1024

/* pcce_self_ring.flags, set by the process */
/* perf_event_open was refused. The source is a POSIX timer, which expires only at clock ticks; the
 * weight of a sample is the number of periods that it represents. */
#define PCCE_SELF_TIMER 2u
#define PCCE_SELF_USER_ONLY 4u /* time in the kernel is not counted */
/* The program waits for the sampling signal itself, with the signal blocked: the thread that does
 * is not sampled meanwhile. Or the handler could not be installed. */
#define PCCE_SELF_SIGNAL_TAKEN 8u
#define PCCE_SELF_NO_MAPS 16u /* the process could not read its own mappings */
/* Verify mode was requested, but there is no unwinder (static program). */
#define PCCE_SELF_NO_UNWINDER 32u
#define PCCE_SELF_NO_SOURCE 64u /* neither perf_event_open nor timer_create worked */
#define PCCE_SELF_LOCKED 128u	/* the file is locked as long as a writer maps it */
#define PCCE_SELF_GAVE_UP 256u	/* the ring was full, and the reader did not look */
/* The program is about to forbid itself to read the clock: sampling ended. */
#define PCCE_SELF_NO_CLOCK 512u
/* The program confined itself (seccomp): threads and processes that it creates from then on are not
 * sampled. */
#define PCCE_SELF_CONFINED 1024u
/* The program confined itself, and its filter does not let signal handlers return: sampling
 * ended. */
#define PCCE_SELF_NO_SIGNALS 2048u
#define PCCE_SELF_NO_STACK 4096u    /* a thread has no stack for the handler: it is not sampled */
#define PCCE_SELF_COUNTED 8192u	    /* the process keeps `due` and what follows it */
#define PCCE_SELF_UNCOUNTED 16384u  /* but not for all of its threads */
#define PCCE_SELF_HOOKED 32768u	    /* the process's allocations are seen */
#define PCCE_SELF_NEW_UNSEEN 65536u /* but not those by operator new */
#define PCCE_SELF_LIVE_UNKNOWN 131072u /* since a lock was lost, no free was seen */

/* Sums of all counters. */
struct pcce_self_ledger {
	__u32 lock; /* writers: 1 while one of them changes what follows, and live sums */
	__u32 reserved;
	__u64 bytes;	  /* live */
	__u64 peak;	  /* the largest bytes so far */
	__u64 generation; /* grows with the peak */
	/* Atomic add: allocations and frees that the sums lack. */
	__u64 unfollowed;
	__u64 pad[3];
};

struct pcce_self_ring {
	__u64 magic; /* process, once, stored last */
	__u32 version;
	__u32 header_size;
	__u64 data_size;
	__u64 start_time; /* ns, CLOCK_MONOTONIC */
	__u32 pid;	  /* in the process's own pid namespace */
	__u32 flags;	  /* process, atomic or: PCCE_SELF_* */
	__u64 pid_ns;	  /* process, once: inode number of its pid namespace; 0: unknown */
	__u64 n_counters; /* process, once: a power of two, or 0 */
	__u64 pad0;
	__u64 head; /* writers, compare and swap: position of the next record */
	__u64 lost; /* writers, atomic add: the weights of samples without room */
	/* Writers, atomic add: periods of CPU time that have passed, up to each thread's last
	 * sample. */
	__u64 due;
	/* Of these: those that ended while the thread was in the kernel, or the clock was late. */
	__u64 kernel;
	__u64 throttled; /* of these: the kernel had stopped the event */
	__u64 blocked;	 /* of these: the thread ended while it blocked the signal */
	/* Writers, atomic add: processes and threads that were created in a way that leaves them
	 * without samples. */
	__u64 unseen;
	__u64 pad1;
	__u64 tail; /* reader: position of the next record to read */
	__u32 stop; /* reader, or a writer that gives up: 1 ends sampling */
	__u32 pad2;
	__u64 read_at; /* reader: when it last looked, ns, CLOCK_MONOTONIC */
	__u64 pad3[5];
	struct pcce_self_ledger ledger;
};

enum pcce_self_type {
	PCCE_SELF_SAMPLE = 1,
	PCCE_SELF_PROCESS = 2,
	PCCE_SELF_THREAD = 3,
	PCCE_SELF_MAP = 4,
	/* A struct pcce_self_sample of one allocation, or of all that a counter counts. It brings
	 * its whole encoding stack. sample.sp is the number of bytes, and sample.kip is 1 + the
	 * number of the counter; 0: none. */
	PCCE_SELF_ALLOCATION = 5
};

#define PCCE_SELF_COUNTERS 65536 /* at most */
#define PCCE_SELF_COUNTERS_SAMPLED 16384

/* The sums of the allocations of one context in one thread. From live_samples on, the thread that
 * holds the lock of the ledger writes them. */
struct pcce_self_counter {
	__u64 key;	 /* writers, compare and swap: a hash of context and thread; 0: free */
	__u64 samples;	 /* writer: one instruction; atomic add if there may be several */
	__u64 bytes;	 /* the same */
	__u32 announced; /* writers: 1 as soon as the ring has its record */
	__u32 reserved;
	__u64 live_samples;
	__u64 live_bytes;
	__u64 generation; /* of the ledger, at the last change */
	__u64 pad;
	/* Live at the peak, if generation is that of the ledger; else what is live is that. */
	__u64 peak_samples;
	__u64 peak_bytes;
	__u64 temporary_samples; /* freed before the thread allocated again */
	__u64 temporary_bytes;
};

struct pcce_self_record {
	__u64 stamp; /* position + 1, stored last */
	__u32 size;  /* bytes, with this header; a multiple of 16 */
	__u32 type;  /* enum pcce_self_type; the reader skips unknown ones */
};

/* The entries, segments and addresses of struct pcce_sample follow, and then labels. */
struct pcce_self_sample {
	struct pcce_self_record rec;
	struct pcce_sample sample;
};

struct pcce_self_process {
	struct pcce_self_record rec;
	__u64 time;
	__u32 pid;
	__u32 ppid;
	__u32 flags; /* PCCE_PROCESS_* */
	__u32 reserved;
	char comm[16];
	__u64 pad;
};

struct pcce_self_thread {
	struct pcce_self_record rec;
	__u64 time;
	__u32 pid;
	__u32 tid;
	char comm[16];
};

/* The path follows, NUL-terminated. */
struct pcce_self_map {
	struct pcce_self_record rec;
	__u64 time;
	__u64 start;
	__u64 length;
	__u64 pgoff;
	__u32 pid;
	__u32 path_size; /* bytes, with the NUL */
	__u64 pad;
};

/* Size of the largest well-formed record. */
#define PCCE_SELF_RECORD_MAX                                                                  \
	(sizeof(struct pcce_self_sample) + PCCE_SEGMENT_ENTRIES * sizeof(struct pcce_entry) + \
	 PCCE_SAMPLE_SEGMENTS * sizeof(struct pcce_segment) + PCCE_SELF_STACK * 8 +           \
	 PCCE_SELF_LABELS * 8 + 16)

PCCE_ASSERT_SIZE(pcce_self_ledger, 64);
PCCE_ASSERT_SIZE(pcce_self_ring, 256);
PCCE_ASSERT_OFFSET(pcce_self_ring, data_size, 16);
PCCE_ASSERT_OFFSET(pcce_self_ring, pid, 32);
PCCE_ASSERT_OFFSET(pcce_self_ring, pid_ns, 40);
PCCE_ASSERT_OFFSET(pcce_self_ring, n_counters, 48);
PCCE_ASSERT_OFFSET(pcce_self_ring, head, 64);
PCCE_ASSERT_OFFSET(pcce_self_ring, lost, 72);
PCCE_ASSERT_OFFSET(pcce_self_ring, due, 80);
PCCE_ASSERT_OFFSET(pcce_self_ring, tail, 128);
PCCE_ASSERT_OFFSET(pcce_self_ring, stop, 136);
PCCE_ASSERT_OFFSET(pcce_self_ring, read_at, 144);
PCCE_ASSERT_OFFSET(pcce_self_ring, ledger, 192);
PCCE_ASSERT_SIZE(pcce_self_record, 16);
PCCE_ASSERT_SIZE(pcce_self_sample, 120);
PCCE_ASSERT_SIZE(pcce_self_process, 64);
PCCE_ASSERT_SIZE(pcce_self_thread, 48);
PCCE_ASSERT_SIZE(pcce_self_map, 64);
PCCE_ASSERT_SIZE(pcce_self_counter, 96);

#endif
