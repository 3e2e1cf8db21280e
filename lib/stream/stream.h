/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the stream of events: what samplers and readers of recordings deliver, and what the
 * writer of a recording, a profile and a merge take.
 *
 *     sources   bpf | self | kmod | count | recording
 *     stages    room -> modules -> state -> carriers -> accounts -> only -> hot | frames
 *               -> windows
 *     ends      writer | profile | merge | libpcce-decode
 *
 * A stage is a struct that begins with a struct stream. It has a function for each kind of thing
 * that it cares about; everything else passes it by. For example, the stage of --only has a
 * function for samples, which calls stream_pass(stage->next, event, event) for those that it keeps.
 * It has none for losses, so the next stage gets these without it.
 *
 * An event belongs to whoever gets it: a stage changes it and passes it on.
 *
 * A source calls the functions stream_...() below, which make the records. All return 0, or -errno
 * if the stream must end (disk full). Pointers are valid only during the call. The interface is not
 * thread-safe: one thread makes all calls.
 */
#ifndef PCCE_STREAM_STREAM_H
#define PCCE_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <pcce/abi.h>
#include <pcce/datafile.h>

struct stack_node;
struct kernel_stack;
struct label_set;

/* A sample, or several equal ones that were aggregated. */
struct stream_event {
	const struct pcce_sample *sample; /* the context: its entries, segments and stack follow */
	uint64_t samples, weight;
	uint64_t error;	     /* most weight that may be missing; 0: none is */
	const uint64_t *key; /* of a CONTEXT record: names the context; else NULL */
	uint32_t bytes;	     /* that it takes in the recording; 0: not known */
	uint32_t number;     /* of the event of the recording that was sampled */
	bool aggregated;     /* also a single one can be */
	/* The known part of the encoding stack below the sample's own entries. Only stages behind
	 * one that keeps the stacks (filter/state.h) have it. */
	const struct stack_node *below;
	/* With PCCE_SAMPLE_KERNEL_STACK, the stack that kip numbers, as long as its source. */
	const struct kernel_stack *kernel;
	/* Of a wait for a futex that is no aggregated one: how it ended. NULL: not known. */
	const struct pcce_wait *wait;
	/* What the thread worked on, as long as its source. NULL: nothing is known. */
	const struct label_set *labels;
	/* Of counted calls that were timed: their durations, and the buckets behind. Else NULL. */
	const struct pcce_durations *durations;
};

struct stream {
	const struct stream_ops *ops;
	struct stream *next; /* NULL: this is the end */
};

/* All are optional. */
struct stream_ops {
	int (*process)(struct stream *s, const struct pcce_rec_process *rec, const char *comm);
	int (*thread)(struct stream *s, const struct pcce_rec_thread *rec, const char *comm);
	/* path: what a sampler knows instead of the number of the module; rec->vaddr is then the
	 * number of the file's inode, or 0 if it is not known. Else NULL. pgoff: file offset of the
	 * start of the executable mapping. */
	int (*map)(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		   const char *path);
	int (*module)(struct stream *s, const struct pcce_rec_module *rec, const char *path);
	int (*symbol)(struct stream *s, const struct pcce_rec_symbol *rec, const char *function,
		      const char *file);
	int (*lost)(struct stream *s, const struct pcce_rec_lost *rec);
	int (*event)(struct stream *s, struct stream_event *e);
	/*
	 * A whole summary begins: the aggregated samples that follow it. missing: the most that
	 * any context has of which there is no sample; nameless: what was counted with no context.
	 * The true count of a sample is at least its `samples`, and at most its weight and
	 * `error`. N is nameless and the weights of all samples.
	 */
	int (*summary)(struct stream *s, uint64_t missing, uint64_t nameless);
	int (*summary_event)(struct stream *s, struct stream_event *e);
	/* Any other record: `size` bytes, and its strings. */
	int (*record)(struct stream *s, uint32_t type, const void *rec, size_t size,
		      const char *const *strings, int n_strings);
	/* Marks the stacks that the stage refers to, for stack_store_sweep(). */
	int (*keep)(struct stream *s);
	/* A thread has ended; process: it was the last one of its process. Samplers that hear of it
	 * tell so, after the thread's samples. */
	int (*ended)(struct stream *s, uint32_t pid, uint32_t tid, bool process);
	/* A window of the recording ends (--switch-output): delivers what end() would deliver of
	 * it. What comes next belongs to the next window, which is a recording by itself. */
	int (*window)(struct stream *s);
	/* After the last event: delivers what the stage kept back. */
	int (*end)(struct stream *s);
	void (*free)(struct stream *s);
};

/* What event() returns if a stage has left out the samples. It is no error. */
#define STREAM_LEFT_OUT 1

/* For stages: gives something to the first stage from `to` on that has a function for it. For
 * example stream_pass(s->next, process, rec, comm). */
#define stream_pass(to, op, ...)                            \
	({                                                  \
		struct stream *at_ = (to);                  \
                                                            \
		while (at_ && !at_->ops->op)                \
			at_ = at_->next;                    \
		at_ ? at_->ops->op(at_, ##__VA_ARGS__) : 0; \
	})

/* For a stage that has nothing else to free. */
static inline void stream_free(struct stream *s)
{
	free(s);
}

/* ---- for samplers ---- */

static inline struct stream_event stream_event_of(const struct pcce_sample *s)
{
	bool aggregated = s->flags & PCCE_SAMPLE_COUNTED;
	uint64_t samples = aggregated ? s->sp : 1;

	return (struct stream_event){.sample = s,
				     .samples = samples,
				     .weight = s->weight ? s->weight : samples,
				     .aggregated = aggregated};
}

/* The entries, segments and stack follow the sample: sample.h. event: its number. */
static inline int stream_sample_of(struct stream *to, const struct pcce_sample *s, uint32_t event)
{
	struct stream_event e = stream_event_of(s);

	e.number = event;
	return stream_pass(to, event, &e);
}

static inline int stream_sample(struct stream *to, const struct pcce_sample *s)
{
	return stream_sample_of(to, s, 0);
}

/* calls: the sample is a lower bound of them. */
static inline int stream_summary_sample(struct stream *to, const struct pcce_sample *s,
					uint64_t calls, uint64_t error)
{
	struct stream_event e = stream_event_of(s);

	e.weight = calls;
	e.error = error;
	return stream_pass(to, summary_event, &e);
}

static inline int stream_process(struct stream *to, uint64_t time, pid_t pid, pid_t ppid,
				 uint32_t flags, const char *comm)
{
	const struct pcce_rec_process rec = {
		.time = time, .pid = (uint32_t)pid, .ppid = (uint32_t)ppid, .flags = flags};

	return stream_pass(to, process, &rec, comm);
}

static inline int stream_thread(struct stream *to, uint64_t time, pid_t pid, pid_t tid,
				const char *comm)
{
	const struct pcce_rec_thread rec = {
		.time = time, .pid = (uint32_t)pid, .tid = (uint32_t)tid};

	return stream_pass(to, thread, &rec, comm);
}

/* process: the thread was the last one of its process. */
static inline int stream_ended(struct stream *to, pid_t pid, pid_t tid, bool process)
{
	return stream_pass(to, ended, (uint32_t)pid, (uint32_t)tid, process);
}

/* An executable mapping of a file. pgoff: file offset of start. ino: of the file; 0: not known. */
static inline int stream_map(struct stream *to, uint64_t time, pid_t pid, uint64_t start,
			     uint64_t length, uint64_t pgoff, uint64_t ino, const char *path)
{
	const struct pcce_rec_map rec = {.time = time,
					 .start = start,
					 .length = length,
					 .vaddr = ino,
					 .pid = (uint32_t)pid,
					 .module = PCCE_MODULE_NONE};

	return stream_pass(to, map, &rec, pgoff, path);
}

/* event: its number. */
static inline int stream_lost_of(struct stream *to, uint64_t time, uint32_t reason, uint64_t count,
				 uint32_t event)
{
	const struct pcce_rec_lost rec = {
		.time = time, .count = count, .reason = reason, .event = event};

	return stream_pass(to, lost, &rec);
}

static inline int stream_lost(struct stream *to, uint64_t time, uint32_t reason, uint64_t count)
{
	return stream_lost_of(to, time, reason, count, 0);
}

#endif
