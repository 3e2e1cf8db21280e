/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the event queue of the samplers in the kernel, with a time_queue and a
 * process_tracker. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/message.h"
#include "sampler/process_tracker.h"
#include "sampler/tls_offsets.h"
#include "sampler/time_queue.h"
#include "sampler/event_queue.h"
#include "sampler/thread_labels.h"
#include "stream/kernel_stacks.h"

/* A sample has a struct queued behind it. */
enum blob { BLOB_SAMPLE, BLOB_SIDEBAND };

/* What a sample has beside what a recording stores of it. */
struct queued {
	struct pcce_wait wait;
	uint32_t labels; /* 1 + the number of their set; 0: none */
	bool waited;
};

/* What a process was when sampling began: its name, another thread, or a mapping. */
struct note {
	pid_t pid;
	pid_t tid;    /* 0: a mapping */
	pid_t parent; /* of a command; 0: not known */
	uint64_t start, length, pgoff, ino;
	char *name;
};

struct event_queue {
	struct perf_sideband *sideband;
	struct process_tracker *follow;
	struct tls_offsets *places;
	struct kernel_stacks *kernel;
	struct thread_labels *labels;
	struct time_queue queue;
	int epoll;
	uint64_t start;
	bool introduction_due, reattached;
	struct note *notes;
	size_t n_notes;
	event_queue_reattach *reattach;
	void *reattach_ctx;
	struct stream *sink; /* during event_queue_flush() */
	int (*heard)(void *ctx,
		     const struct perf_sideband_event *e); /* during event_queue_listen() */
	void *heard_ctx;
};

uint64_t event_queue_now(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void free_notes(struct event_queue *s)
{
	for (size_t i = 0; i < s->n_notes; i++)
		free(s->notes[i].name);
	free(s->notes);
	s->notes = NULL;
	s->n_notes = 0;
}

void event_queue_close(struct event_queue *s)
{
	if (!s)
		return;
	perf_sideband_close(s->sideband);
	process_tracker_free(s->follow);
	tls_offsets_free(s->places);
	kernel_stacks_free(s->kernel);
	thread_labels_free(s->labels);
	time_queue_free(&s->queue);
	free_notes(s);
	if (s->epoll >= 0)
		close(s->epoll);
	free(s);
}

int event_queue_open(int64_t *offsets, uint32_t *n_offsets, uint32_t capacity, const char *program,
		     struct event_queue **out, struct error *why)
{
	struct event_queue *s = calloc(1, sizeof(*s));
	int err;

	error_set(why, 0, "out of memory");
	if (!s)
		return -ENOMEM;
	err = -ENOMEM;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->follow = process_tracker_new();
	s->places = tls_offsets_new(offsets, n_offsets, capacity);
	s->kernel = kernel_stacks_new();
	s->labels = thread_labels_new();
	if (s->epoll < 0 || !s->follow || !s->places || !s->kernel || !s->labels)
		goto fail;
	if (program)
		tls_offsets_program(s->places, program);
	err = perf_sideband_open(&s->sideband, why);
	if (err)
		goto fail;
	err = perf_sideband_watch(s->sideband, s->epoll);
	if (err) {
		error_set(why, 0, "cannot wait for the kernel's records of processes: %s",
			  strerror(-err));
		goto fail;
	}
	*out = s;
	return 0;
fail:
	event_queue_close(s);
	return err;
}

/* ---- running processes -------------------------------------------------------------- */

static int add_note(struct event_queue *s, struct note note, const char *name)
{
	note.name = strdup(name);
	if (!note.name || array_grow(&s->notes, s->n_notes, sizeof(note))) {
		free(note.name);
		return -ENOMEM;
	}
	s->notes[s->n_notes++] = note;
	return 0;
}

/* A stage of the queue. */
struct ears {
	struct stream stream;
	struct event_queue *queue;
};

static struct event_queue *queue_of(struct stream *s)
{
	return ((struct ears *)s)->queue;
}

static int note_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	const pid_t pid = (pid_t)rec->pid;

	return add_note(queue_of(s), (struct note){.pid = pid, .tid = pid}, comm);
}

static int note_thread(struct stream *s, const struct pcce_rec_thread *rec, const char *comm)
{
	return add_note(queue_of(s), (struct note){.pid = (pid_t)rec->pid, .tid = (pid_t)rec->tid},
			comm);
}

static void hear_map(struct event_queue *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		     const char *path)
{
	tls_offsets_map(s->places, (pid_t)rec->pid, rec->start, rec->length, pgoff, path);
}

static int note_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		    const char *path)
{
	hear_map(queue_of(s), rec, pgoff, path);
	return add_note(queue_of(s),
			(struct note){.pid = (pid_t)rec->pid,
				      .start = rec->start,
				      .length = rec->length,
				      .pgoff = pgoff,
				      .ino = rec->vaddr},
			path);
}

/* Reads what a process is, before any sample: it may end at any time. Later changes are in the side
 * band, which is open already. */
static int look_at_process(void *ctx, pid_t pid)
{
	static const struct stream_ops ops = {
		.process = note_process, .thread = note_thread, .map = note_map};
	struct event_queue *s = ctx;
	struct ears notes = {{&ops, NULL}, s};
	unsigned int threads = 0;
	size_t first = s->n_notes;
	int err = process_tracker_snapshot(pid, s->start, &notes.stream);

	for (size_t i = first; i < s->n_notes; i++)
		threads += s->notes[i].tid != 0;
	return err || !threads ? err
			       : process_tracker_add(s->follow, pid, threads, s->notes[first].name,
						     s->start);
}

int event_queue_begin(struct event_queue *s, const pid_t *pids, size_t n, bool attached,
		      event_queue_reattach *reattach, void *ctx)
{
	int err = 0;

	s->reattach = reattach;
	s->reattach_ctx = ctx;
	s->start = event_queue_now();
	s->introduction_due = true;
	if (!pids) {
		process_tracker_all(s->follow);
		return process_tracker_list(look_at_process, s);
	}
	for (size_t i = 0; i < n && attached && !err; i++)
		err = look_at_process(s, pids[i]);
	if (attached)
		return err;
	err = process_tracker_add(s->follow, *pids, 1, "", s->start);
	return err ? err
		   : add_note(s, (struct note){.pid = *pids, .tid = *pids, .parent = getpid()},
			      "pcce-record");
}

int event_queue_watch(struct event_queue *s, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int event_queue_wait(struct event_queue *s, int timeout_ms)
{
	struct epoll_event event;

	return epoll_wait(s->epoll, &event, 1, timeout_ms) < 0 && errno != EINTR ? -errno : 0;
}

/* Replaces the frames of the kernel by the number of the stack. Without room for it, the innermost
 * frame remains. */
static void number_kernel_stack(struct event_queue *s, struct pcce_sample *sample,
				const uint64_t *from)
{
	uint32_t n = (uint32_t)sample->kip;
	const struct kernel_stack *stack;
	uint64_t frames[PCCE_KERNEL_FRAMES];

	for (uint32_t i = 0; i < n; i++)
		frames[i] = from[i] - (i && from[i] >= PCCE_WAITS ? 1 : 0);
	stack = kernel_stacks_find(s->kernel, frames, n);
	if (!stack)
		sample->flags &= ~PCCE_SAMPLE_KERNEL_STACK;
	sample->kip = stack ? stack->number : frames[0];
}

int event_queue_add(struct event_queue *s, const struct pcce_sample *sample, size_t size,
		    const uint64_t *behind)
{
	struct pcce_sample *blob =
		time_queue_add(&s->queue, sample->time, BLOB_SAMPLE, size + sizeof(struct queued));
	uint32_t n_labels = PCCE_SAMPLE_LABELS(sample->flags);
	struct queued more = {.waited = sample->flags & PCCE_SAMPLE_WAIT};

	if (!blob)
		return -ENOMEM;
	memcpy(blob, sample, size);
	if (n_labels)
		more.labels = label_sets_index(thread_labels_of(s->labels, (pid_t)sample->pid,
								behind + event_queue_words(sample),
								n_labels));
	blob->flags &= ~(PCCE_SAMPLE_WAIT | PCCE_SAMPLE_LABELS_MASK);
	if (more.waited) {
		memcpy(&more.wait, behind, sizeof(more.wait));
		blob->kip = 0;
	} else if (sample->flags & PCCE_SAMPLE_KERNEL_STACK) {
		number_kernel_stack(s, blob, behind);
	}
	memcpy((char *)blob + size, &more, sizeof(more));
	return 0;
}

static int queue_sideband_event(void *ctx, const struct perf_sideband_event *e)
{
	struct event_queue *s = ctx;
	size_t name = strlen(e->name) + 1;
	char *blob = time_queue_add(&s->queue, e->time, BLOB_SIDEBAND, sizeof(*e) + name);

	if (!blob)
		return -ENOMEM;
	memcpy(blob, e, sizeof(*e));
	memcpy(blob + sizeof(*e), e->name, name);
	return s->heard ? s->heard(s->heard_ctx, e) : 0;
}

int event_queue_listen(struct event_queue *s,
		       int (*heard)(void *ctx, const struct perf_sideband_event *e), void *ctx)
{
	s->heard = heard;
	s->heard_ctx = ctx;
	return perf_sideband_read(s->sideband, queue_sideband_event, s);
}

/* ---- the stream; mappings also go to tls_offsets ----------------------------- */

static int map_heard(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		     const char *path)
{
	hear_map(queue_of(s), rec, pgoff, path);
	return stream_pass(s->next, map, rec, pgoff, path);
}

/* ---- set-uid programs --------------------------------------------------------------- */

/* Whether the kernel removes all events from a process after such an exec. It does if the real and
 * the effective ids then differ. The process's auxiliary vector contains these ids. The exception
 * is fs.suid_dumpable = 1. */
static bool exec_takes_events(pid_t pid)
{
	uint64_t pair[2], uid[2] = {0}, gid[2] = {0};
	int dumpable = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	f = fopen(path, "re");
	while (f && fread(pair, sizeof(pair), 1, f) == 1) {
		if (pair[0] == AT_UID || pair[0] == AT_EUID)
			uid[pair[0] == AT_EUID] = pair[1];
		if (pair[0] == AT_GID || pair[0] == AT_EGID)
			gid[pair[0] == AT_EGID] = pair[1];
	}
	if (f)
		fclose(f);
	if (uid[0] == uid[1] && gid[0] == gid[1])
		return false;
	f = fopen("/proc/sys/fs/suid_dumpable", "re");
	if (f && fscanf(f, "%d", &dumpable) != 1)
		dumpable = 0;
	if (f)
		fclose(f);
	return dumpable != 1;
}

static int after_exec(struct event_queue *s, const struct perf_sideband_event *exec)
{
	int err;

	if (!exec_takes_events(exec->pid))
		return 0;
	/* The side band then has an exit event although the process continues. Count one more
	 * thread, so that the process remains followed. */
	if (process_tracker_add(s->follow, exec->pid, 2, exec->name, exec->time))
		return -ENOMEM;
	err = s->reattach ? s->reattach(s->reattach_ctx, exec) : 0;
	if (s->reattach && !err && !s->reattached)
		message(NULL,
			"%s is set-uid or set-gid, so the kernel removed its events; its first "
			"%.0f ms are not sampled",
			exec->name, (double)(event_queue_now() - exec->time) / 1e6);
	s->reattached = true;
	return err;
}

static int deliver_event(struct event_queue *s, const struct pcce_sample *sample,
			 const struct queued *more)
{
	struct stream_event e = stream_event_of(sample);

	e.number = sample->event;
	if (sample->flags & PCCE_SAMPLE_KERNEL_STACK)
		e.kernel = kernel_stacks_get(s->kernel, sample->kip);
	e.wait = more->waited ? &more->wait : NULL;
	if (more->labels)
		e.labels = thread_labels_get(s->labels, more->labels - 1);
	return stream_pass(s->sink, event, &e);
}

static int deliver_item(void *ctx, uint32_t kind, const void *blob, size_t size)
{
	struct event_queue *s = ctx;
	static const struct stream_ops ops = {.map = map_heard};
	struct ears ears = {{&ops, s->sink}, s};
	struct perf_sideband_event e;
	int err;

	if (kind == BLOB_SAMPLE)
		return deliver_event(s, blob,
				     (const struct queued *)((const char *)blob + size) - 1);
	memcpy(&e, blob, sizeof(e));
	e.name = (const char *)blob + sizeof(e);
	err = process_tracker_event(s->follow, &e, &ears.stream);
	if (e.type == SIDEBAND_EXEC)
		thread_labels_exec(s->labels, e.pid);
	if (!err && e.type == SIDEBAND_EXEC && process_tracker_has(s->follow, e.pid))
		err = after_exec(s, &e);
	return err;
}

static int tell_note(struct event_queue *s, const struct note *n)
{
	struct stream *sink = s->sink;

	if (!n->tid)
		return stream_map(sink, s->start, n->pid, n->start, n->length, n->pgoff, n->ino,
				  n->name);
	if (n->tid == n->pid)
		return stream_process(sink, s->start, n->pid, n->parent, 0, n->name);
	return stream_thread(sink, s->start, n->pid, n->tid, n->name);
}

/* Tells the sink what the processes are, before any other event. */
static int introduce_processes(struct event_queue *s)
{
	int err = 0;

	s->introduction_due = false;
	for (size_t i = 0; i < s->n_notes && !err; i++)
		err = tell_note(s, &s->notes[i]);
	free_notes(s);
	return err;
}

int event_queue_flush(struct event_queue *s, struct stream *sink, uint64_t limit)
{
	int err = 0;

	s->sink = sink;
	if (s->introduction_due)
		err = introduce_processes(s);
	if (!err)
		err = time_queue_flush(&s->queue, limit, deliver_item, s);
	tls_offsets_retry(s->places);
	s->sink = NULL;
	return err;
}
