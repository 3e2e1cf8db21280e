/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declares a session: what one open file of /dev/pcce samples.
 *
 * pcce_session_new() creates it at open. SETUP fills config, allocates the rings, and then
 * publishes them. START creates perf events, whose handler (handler.c) gets the session. STOP, a
 * START that fails, and at the end pcce_session_free() release the events, and wait until no
 * handler can be running.
 * Only then do they free what handlers use. Mappings hold the file, so free comes after the last
 * munmap.
 */
#ifndef PCCE_SESSION_H
#define PCCE_SESSION_H

#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <pcce/kmod.h>

struct pcce_segments;	 /* segments.c */
struct pcce_stack_table; /* pcce/stack_blocks.h */

enum pcce_state {
	PCCE_NEW,   /* before SETUP */
	PCCE_READY, /* after SETUP, or STOP */
	PCCE_RUNNING
};

/*
 * The part of a session on one CPU. Only handlers on that CPU write it, one at a time (busy),
 * except dropped[PCCE_KMOD_DROP_NESTED]. Others only read the counts.
 */
struct pcce_cpu {
	int busy;
	struct pcce_session *session;

	/* Its ring. NULL: the session does not sample this CPU. */
	const struct pcce_kmod_reader *reader; /* user space writes it: any value, at any time */
	/* User space reads it; head below is the one that counts. */
	struct pcce_kmod_writer *writer;
	char *data;
	u64 head;
	struct pcce_stack_table *stacks; /* stacks.c; NULL: no stacks are copied */
	struct irq_work wake;

	/* What held for the last sample: the page's offset, and the entries in its lower half, or
	 * that the upper half was current. */
	s64 offset;
	u32 entries;
	bool found;

	/* Generations of the segments that the current sample carries. */
	u64 brings[PCCE_SAMPLE_SEGMENTS];

	u64 samples, throttled, no_user, late;
	u64 dropped[PCCE_KMOD_DROP_REASONS];

	/* hotplug.c: since when the CPU has been on line without an event (0: it has one, or is off
	 * line), and earlier such times. */
	u64 back;
	atomic64_t gap_ns, gaps;
};

/* What was given an event: a CPU or a thread. Inherited events refer to it, too. */
struct pcce_watched {
	struct pcce_session *session;
	bool accepted;		    /* false: what the event counts is not a sample */
	struct perf_event *event;   /* NULL: the thread has inherited one */
	struct pid *pid;	    /* of the thread; else NULL */
	struct pcce_watched *older; /* an earlier record of the same thread */
	struct rcu_head rcu;
};

struct pcce_session {
	/*
	 * Serialises requests; protects state, config, target, attr and events. The order of locks:
	 * this one before exec_update_lock, mmap_lock, the lock of CPU hotplug and all locks of
	 * perf. mmap, poll, handlers and callbacks of CPU hotplug never take it.
	 */
	struct mutex lock;
	enum pcce_state state;
	struct pcce_kmod_setup config;
	struct perf_event_attr attr;
	struct pid *target;	  /* TASK, PROCESS */
	struct pid_namespace *ns; /* pids in samples are those of this namespace */
	struct xarray events;	  /* attach.c */
	u64 n_events;
	struct hlist_node hotplug; /* hotplug.c */
	struct work_struct revival;
	bool follows_cpus;

	/* Set once, before a release of `memory` publishes them; then constant. */
	struct pcce_cpu __percpu *cpus;
	char *memory; /* all that can be mapped: readers, writers, data */
	size_t memory_bytes;
	struct pcce_segments *segments;
	struct pcce_stack_table *stacks; /* of all rings */
	struct mm_struct *charged;	 /* the process that the locked memory is charged to */
	size_t charged_pages;

	/* Handlers read these at any time. */
	bool active;
	bool privileged; /* all who started it, or attached to processes, had CAP_PERFMON */
	u32 n_offsets;
	s64 offsets[PCCE_KMOD_OFFSETS];

	wait_queue_head_t wait;
};

struct pcce_session *pcce_session_new(void);
void pcce_session_free(struct pcce_session *s);
int pcce_session_setup(struct pcce_session *s, struct pcce_kmod_setup *config);
int pcce_session_start(struct pcce_session *s);
int pcce_session_attach(struct pcce_session *s, const struct pcce_kmod_attach *attach);
int pcce_session_stop(struct pcce_session *s);
int pcce_session_stats(struct pcce_session *s, struct pcce_kmod_stats *stats);
int pcce_session_places(struct pcce_session *s, const struct pcce_kmod_places *places);

/* attach.c: creates and releases the session's perf events. The caller holds the session's lock.
 * After pcce_detach() no handler is running. */
int pcce_attach(struct pcce_session *s);
int pcce_attach_more(struct pcce_session *s, struct pid *process, bool again);
void pcce_detach(struct pcce_session *s);
/* Replaces the event of a CPU that was off line. On error the CPU has none. */
int pcce_attach_cpu_again(struct pcce_session *s, unsigned int cpu);

/* handler.c */
void pcce_on_event(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs);

/* access.c: may the caller sample this? Return 0 or -EPERM. The caller holds the task's
 * exec_update_lock. */
int pcce_may_sample_task(struct task_struct *task);
int pcce_may_sample(const struct pcce_kmod_setup *config);

extern unsigned long pcce_max_frequency; /* session.c */

#endif
