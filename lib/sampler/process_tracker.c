/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Follows processes in a hash table. A process is removed when its last thread has ended. So a
 * later process with its number is not mistaken for it.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uthash.h"
#include "sampler/process_tracker.h"

#define COMM 16

struct process {
	pid_t pid;
	unsigned int threads;
	uint64_t since;
	char comm[COMM];
	UT_hash_handle hh;
};

struct process_tracker {
	struct process *processes;
	bool all;
};

struct process_tracker *process_tracker_new(void)
{
	return calloc(1, sizeof(struct process_tracker));
}

static struct process *followed_process(const struct process_tracker *f, pid_t pid)
{
	struct process *p;

	HASH_FIND_INT(f->processes, &pid, p);
	return p;
}

static void forget_process(struct process_tracker *f, struct process *p)
{
	HASH_DEL(f->processes, p);
	free(p);
}

void process_tracker_free(struct process_tracker *f)
{
	struct process *p, *next;

	if (!f)
		return;
	HASH_ITER (hh, f->processes, p, next)
		forget_process(f, p);
	free(f);
}

int process_tracker_add(struct process_tracker *f, pid_t pid, unsigned int threads,
			const char *comm, uint64_t since)
{
	struct process *p = followed_process(f, pid);

	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return -ENOMEM;
		p->pid = pid;
		if (!hash_add(f->processes, pid, p))
			return -ENOMEM;
	}
	p->threads = threads;
	p->since = since;
	snprintf(p->comm, sizeof(p->comm), "%s", comm);
	return 0;
}

void process_tracker_all(struct process_tracker *f)
{
	f->all = true;
}

bool process_tracker_has(const struct process_tracker *f, pid_t pid)
{
	return followed_process(f, pid);
}

static int track_fork(struct process_tracker *f, const struct perf_sideband_event *e,
		      struct stream *sink)
{
	struct process *p = followed_process(f, e->pid), *parent = followed_process(f, e->ppid);
	const char *comm;

	if (p && e->time < p->since)
		return 0;
	if (e->pid == e->ppid) {
		if (!p)
			return 0;
		p->threads++;
		return stream_thread(sink, e->time, e->pid, e->tid, p->comm);
	}
	/* The number is in use again, and the end of its last process was missed. */
	if (p && !parent)
		forget_process(f, p);
	/* Without a number, a process is in another pid namespace. */
	if (!parent && (!f->all || e->pid <= 0))
		return 0;
	comm = parent ? parent->comm : "";
	if (process_tracker_add(f, e->pid, 1, comm, e->time))
		return -ENOMEM;
	return stream_process(sink, e->time, e->pid, e->ppid, PCCE_PROCESS_FORK, comm);
}

int process_tracker_event(struct process_tracker *f, const struct perf_sideband_event *e,
			  struct stream *sink)
{
	struct process *p;

	if (e->type == SIDEBAND_LOST)
		return stream_lost(sink, e->time, PCCE_LOSS_RING, e->count);
	if (e->type == SIDEBAND_FORK)
		return track_fork(f, e, sink);
	p = followed_process(f, e->pid);
	if (!p && f->all && e->type == SIDEBAND_EXEC && e->pid > 0) { /* its fork was lost */
		if (process_tracker_add(f, e->pid, 1, e->name, e->time))
			return -ENOMEM;
		p = followed_process(f, e->pid);
	}
	if (!p || e->time < p->since)
		return 0;
	switch (e->type) {
	case SIDEBAND_EXIT:
		if (--p->threads)
			return stream_ended(sink, e->pid, e->tid, false);
		forget_process(f, p);
		return stream_ended(sink, e->pid, e->tid, true);
	case SIDEBAND_COMM:
		if (e->tid == e->pid)
			snprintf(p->comm, sizeof(p->comm), "%s", e->name);
		return stream_thread(sink, e->time, e->pid, e->tid, e->name);
	case SIDEBAND_EXEC:
		snprintf(p->comm, sizeof(p->comm), "%s", e->name);
		p->threads = 1;
		return stream_process(sink, e->time, e->pid, 0, PCCE_PROCESS_EXEC, e->name);
	case SIDEBAND_MAP:
		return stream_map(sink, e->time, e->pid, e->start, e->length, e->pgoff, e->ino,
				  e->name);
	default:
		return 0;
	}
}

static void read_comm(pid_t pid, pid_t tid, char comm[COMM])
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
	comm[0] = 0;
	f = fopen(path, "re");
	if (f) {
		if (!fgets(comm, COMM, f))
			comm[0] = 0;
		fclose(f);
	}
	comm[strcspn(comm, "\n")] = 0;
}

static int snapshot_maps(pid_t pid, uint64_t time, struct stream *sink)
{
	char path[64], *line = NULL;
	size_t capacity = 0;
	int err = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0; /* the process has ended */
	while (!err && getline(&line, &capacity, f) > 0) {
		uint64_t start, end, offset, ino;
		char executable;
		int at = 0;

		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %*s %" SCNu64 " %n",
			   &start, &end, &executable, &offset, &ino, &at) < 5 ||
		    !at || executable != 'x' || end <= start)
			continue;
		line[strcspn(line, "\n")] = 0;
		err = stream_map(sink, time, pid, start, end - start, offset, ino,
				 line[at] ? line + at : "//anon");
	}
	free(line);
	fclose(f);
	return err;
}

int process_tracker_snapshot(pid_t pid, uint64_t time, struct stream *sink)
{
	char path[64], comm[COMM];
	struct dirent *entry;
	int err;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (!d)
		return 0;
	read_comm(pid, pid, comm);
	err = stream_process(sink, time, pid, 0, 0, comm);
	if (!err)
		err = snapshot_maps(pid, time, sink);
	while (!err && (entry = readdir(d))) {
		pid_t tid = (pid_t)atoi(entry->d_name);

		if (tid <= 0 || tid == pid)
			continue;
		read_comm(pid, tid, comm);
		err = stream_thread(sink, time, pid, tid, comm);
	}
	closedir(d);
	return err;
}

int process_tracker_list(int (*process)(void *ctx, pid_t pid), void *ctx)
{
	struct dirent *entry;
	DIR *d = opendir("/proc");
	int err = 0;

	while (d && !err && (entry = readdir(d)))
		if (atoi(entry->d_name) > 0)
			err = process(ctx, (pid_t)atoi(entry->d_name));
	if (d)
		closedir(d);
	return err;
}
