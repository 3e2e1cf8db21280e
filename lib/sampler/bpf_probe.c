/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Opens events of perf, and makes them run the BPF program.
 *
 * Attaching to a running process. Threads are created while other threads get their events. A
 * thread inherits the event of its creator if that event existed at the thread's creation. So a
 * thread that is found late gets an event only if its creator had none at that time. The side band
 * tells both times. So no thread is missed and none is sampled twice.
 *
 * The whole system. One event for each CPU runs the program for whatever thread is there, so no
 * thread needs one. The program leaves out the idle thread, and what -u or -G leave out.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/uthash.h"
#include "sampler/bpf_probe.h"

/* A thread that has an event, its own or an inherited one. */
struct watched {
	pid_t tid;
	uint64_t since; /* threads that it creates later inherit the event */
	UT_hash_handle hh;
};

static int open_event(struct bpf_probe *p, pid_t tid, int cpu)
{
	int fd, err;

	fd = perf_event_create(&p->attr, tid, cpu);
	if (fd < 0)
		return -errno;
	err = bpf_program_attach(p->skel, p->kind, fd);
	if (!err)
		err = array_grow(&p->fds, p->n_fds, sizeof(*p->fds));
	if (err) {
		close(fd);
		return err;
	}
	p->fds[p->n_fds++] = fd;
	return 0;
}

static int enable_events(const struct bpf_probe *p)
{
	for (size_t i = 0; i < p->n_fds; i++)
		if (ioctl(p->fds[i], PERF_EVENT_IOC_ENABLE, 0))
			return -errno;
	return 0;
}

int bpf_probe_command(struct bpf_probe *p, pid_t pid)
{
	p->attr.enable_on_exec = 1;
	return open_event(p, pid, -1);
}

int bpf_probe_executed(struct bpf_probe *p, pid_t pid)
{
	int err = open_event(p, pid, -1);

	return err ? err : enable_events(p);
}

int bpf_probe_everywhere(struct bpf_probe *p)
{
	size_t n = p->kind == PERF_EVENT_PROBE ? p->probe.n : 1;
	int err = 0;

	/* Its task and CPU do not matter to the program. */
	p->attr.inherit = 0;
	p->attr.freq = 0;
	p->attr.sample_period = 1;
	for (size_t i = 0; i < n && !err; i++) {
		if (p->kind == PERF_EVENT_PROBE)
			probe_event_set(&p->probe, i, &p->attr);
		err = open_event(p, -1, 0);
	}
	return err ? err : enable_events(p);
}

int bpf_probe_cpus(struct bpf_probe *p, const struct sampler_system *system)
{
	int cpus = libbpf_num_possible_cpus(), err = 0;

	p->attr.inherit = 0;
	for (int cpu = 0; cpu < cpus && !err; cpu++) {
		if (system->cpus && !CPU_ISSET_S((size_t)cpu, system->cpus_size, system->cpus))
			continue;
		err = open_event(p, -1, cpu);
		if (err == -ENODEV) /* the CPU is offline */
			err = 0;
	}
	return err ? err : enable_events(p);
}

/* ---- running processes ------------------------------------------------------------ */

static int watch_thread(struct bpf_probe *p, pid_t tid, uint64_t since)
{
	struct watched *w = malloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->tid = tid;
	w->since = since;
	return hash_add(p->watched, tid, w) ? 0 : -ENOMEM;
}

static struct watched *find_watched(const struct bpf_probe *p, pid_t tid)
{
	struct watched *w;

	HASH_FIND_INT(p->watched, &tid, w);
	return w;
}

static bool was_attached(const struct bpf_births *b, pid_t pid)
{
	for (size_t i = 0; i < b->n_pids; i++)
		if (b->pids[i] == pid)
			return true;
	return false;
}

/* Notes the creation of a thread while events are being opened. */
static int on_birth(void *ctx, const struct perf_sideband_event *e)
{
	struct bpf_births *b = ctx;

	if (e->type != SIDEBAND_FORK || !was_attached(b, e->pid))
		return 0;
	if (array_grow(&b->of, b->n, sizeof(*b->of)))
		return -ENOMEM;
	b->of[b->n++] = (struct birth){e->tid, e->ptid, e->time};
	return 0;
}

/* Whether this thread inherited an event. *since: the time of its creation. */
static bool has_inherited_event(const struct bpf_probe *p, const struct bpf_births *births,
				pid_t tid, uint64_t *since)
{
	for (size_t i = 0; i < births->n; i++) {
		const struct birth *b = &births->of[i];
		const struct watched *parent;

		if (b->tid != tid)
			continue;
		parent = find_watched(p, b->parent);
		*since = b->time;
		return parent && b->time >= parent->since;
	}
	return false;
}

/* Opens events for all threads of a process that have none of this event. Returns the number of new
 * threads, or -errno. */
static int watch_threads(struct bpf_probe *p, struct bpf_births *births, struct event_queue *queue,
			 pid_t pid)
{
	char path[64];
	struct dirent *entry;
	int fresh = 0, err = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (!d)
		return -ESRCH;
	while (!err && (entry = readdir(d))) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		uint64_t since = 0;

		if (tid <= 0 || find_watched(p, tid))
			continue;
		err = event_queue_listen(queue, on_birth, births);
		if (err)
			break;
		if (!has_inherited_event(p, births, tid, &since)) {
			err = open_event(p, tid, -1);
			if (err == -ESRCH) { /* the thread has ended */
				err = 0;
				continue;
			}
			since = event_queue_now();
		}
		if (!err)
			err = watch_thread(p, tid, since);
		fresh++;
	}
	closedir(d);
	return err ? err : fresh;
}

int bpf_probe_running(struct bpf_probe *p, struct bpf_births *births, struct event_queue *queue)
{
	size_t ended = 0;

	for (size_t i = 0; i < births->n_pids; i++) {
		int fresh;

		/* Repeat until no thread is new. Threads that are created later inherit. */
		while ((fresh = watch_threads(p, births, queue, births->pids[i])) > 0)
			;
		ended += fresh == -ESRCH;
		if (fresh < 0 && fresh != -ESRCH)
			return fresh;
	}
	return ended == births->n_pids ? -ESRCH : enable_events(p);
}

int bpf_probe_again(struct bpf_probe *p, const struct perf_sideband_event *exec, const pid_t *tids,
		    size_t n)
{
	struct watched *w = find_watched(p, exec->pid);

	if (w && w->since >= exec->time) /* a later exec has already done it */
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!open_event(p, tids[i], -1))
			ioctl(p->fds[p->n_fds - 1], PERF_EVENT_IOC_ENABLE, 0);
	if (w)
		w->since = event_queue_now();
	return w ? 0 : watch_thread(p, exec->pid, event_queue_now());
}

/* ---- the end -------------------------------------------------------------------- */

void bpf_probe_disable(struct bpf_probe *p)
{
	for (size_t i = 0; i < p->n_fds; i++)
		ioctl(p->fds[i], PERF_EVENT_IOC_DISABLE, 0);
}

void bpf_probe_close(struct bpf_probe *p)
{
	for (size_t i = 0; i < p->n_fds; i++)
		close(p->fds[i]);
	free(p->fds);
	probe_event_free(&p->probe);
	hash_free(p->watched, free);
	if (p->skel)
		sampler_bpf__destroy(p->skel);
}
