/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A session: what one open file of /dev/pcce samples.
 *
 * Life: pcce_session_new() at open; SETUP fills in config, makes the rings and then
 * publishes them; START creates perf events, whose handler (handler.c) is given the
 * session; STOP, and at last pcce_session_free(), release the events and wait until no
 * handler can be at work, before anything that a handler uses goes away.  Mappings hold
 * the file, so free comes after the last munmap.
 */
#ifndef PCCE_SESSION_H
#define PCCE_SESSION_H

#include <linux/irq_work.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/pid_namespace.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <pcce/kmod.h>

struct pcce_segments; /* segments.c */

enum pcce_state {
	PCCE_NEW,   /* before SETUP */
	PCCE_READY, /* after SETUP, or STOP */
	PCCE_RUNNING
};

/*
 * What a session has on each CPU.  Only handlers on that CPU write it, one at a time (busy),
 * but for dropped[PCCE_KMOD_DROP_NESTED]; others read the counts.
 */
struct pcce_cpu {
	int busy;
	struct pcce_session *session;

	/* Its ring; NULL: the session does not sample this CPU. */
	const struct pcce_kmod_reader *reader; /* user space writes it: any value at any time */
	struct pcce_kmod_writer *writer; /* user space sees it; what counts is head and used here */
	char *data;
	u64 head;
	u32 used[2];
	void *index[2]; /* aggregate.c */
	struct irq_work wake;

	/* What was right for the last sample: the page's offset, and entries in its lower half, or
	 * that the upper one was used. */
	s64 offset;
	u32 entries;
	bool found;

	u64 brings[PCCE_SAMPLE_SEGMENTS]; /* generations of the segments that the sample being taken
					     carries */

	u64 samples, throttled, no_user;
	u64 dropped[PCCE_KMOD_DROP_REASONS];
};

/* What was given an event: a CPU, or a thread. Events inherited from it refer to it, too. */
struct pcce_watched {
	struct pcce_session *session;
	bool accepted;		    /* else what the event counts is not a sample */
	struct perf_event *event;   /* NULL: the thread has inherited one */
	struct pid *pid;	    /* of the thread; else NULL */
	struct pcce_watched *older; /* of the same thread */
	struct rcu_head rcu;
};

struct pcce_session {
	/*
	 * Serialises requests; protects state, config, target, attr and events.  Taken outside of
	 * exec_update_lock, mmap_lock and all locks of perf; never in mmap, poll or handlers.
	 */
	struct mutex lock;
	enum pcce_state state;
	struct pcce_kmod_setup config;
	struct perf_event_attr attr;
	struct pid *target;	  /* TASK, PROCESS */
	struct pid_namespace *ns; /* pids in samples are as in here */
	struct xarray events;	  /* attach.c */
	u64 n_events;

	/* Set up once, before they are published by a release of memory; then constant. */
	struct pcce_cpu __percpu *cpus;
	char *memory; /* reader and writer structs, data: the whole of what can be mapped */
	size_t memory_bytes;
	void *indexes; /* aggregate.c */
	struct pcce_segments *segments;
	struct mm_struct *charged; /* whose locked memory it is */

	/* Handlers read these at any time. */
	bool active;
	u32 generation; /* AGGREGATE: the segment that is being filled */
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
int pcce_session_rotate(struct pcce_session *s, struct pcce_kmod_rotate *rotate);
int pcce_session_stats(struct pcce_session *s, struct pcce_kmod_stats *stats);
int pcce_session_places(struct pcce_session *s, const struct pcce_kmod_places *places);

/* attach.c: perf events for what the session is to sample. Called with the session locked. */
int pcce_attach(struct pcce_session *s);
int pcce_attach_more(struct pcce_session *s, struct pid *process, bool again);
void pcce_detach(struct pcce_session *s);

/* handler.c */
void pcce_on_event(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs);

/* access.c: may the caller sample that? 0 or -EPERM. task: its exec_update_lock is held. */
int pcce_may_sample_task(struct task_struct *task);
int pcce_may_sample(const struct pcce_kmod_setup *config);

extern unsigned long pcce_max_frequency; /* session.c */

#endif
