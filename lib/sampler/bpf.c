/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the bpf sampler: opens perf events that run bpf/sampler.bpf.c, and delivers its
 * samples.
 *
 * Events. Each thread that exists at the start gets one perf event for any CPU. A command gets one
 * event, which its exec enables. Threads and processes inherit the events of their creators. The
 * BPF program replaces the events' output, so they need no buffers, and each costs one descriptor.
 * Tracepoints are different: a BPF program on a tracepoint runs for the whole system. It is
 * attached once and looks up the process in a map.
 *
 * Order. See event_queue.h.
 *
 * Attaching to a running process. Threads are created while other threads get their events. A
 * thread inherits the event of its creator if that event existed at the thread's creation. So a
 * thread that is found late gets an event only if its creator had none at that time. The side band
 * tells both times. So no thread is missed and none is sampled twice.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/uthash.h"
#include "bpf/sampler.h"
#include "sampler/bpf_load.h"
#include "sampler/perf_event.h"
#include "sampler/bpf_ring.h"
#include "sampler/sampler.h"
#include "sampler/event_queue.h"

#define TURN 10	    /* ms between two reads of the buffers */
#define BUSY_TURN 2 /* the same if they fill quickly */

/* A thread that has an event, its own or an inherited one. */
struct watched {
	pid_t tid;
	uint64_t since; /* threads that it creates later inherit the event */
	UT_hash_handle hh;
};

struct birth { /* a thread of the target that was created while events were being opened */
	pid_t tid, parent;
	uint64_t time;
};

struct sampler {
	struct sampler_config config;
	struct perf_event_attr attr;
	enum perf_event_kind kind;
	struct sampler_bpf *skel;
	struct bpf_ring *rings;
	struct event_queue *delivery;
	int *events;
	size_t n_events;
	struct watched *watched;
	struct birth *births;
	size_t n_births;
	pid_t pid;
	uint64_t taken, drops;
	uint64_t throttled; /* lost samples by throttling that the sink was told */
	uint64_t late;	    /* the same for late timers */
	struct {
		/* Counts at the last turn with events. */
		uint64_t missed, followed, others;
		bool foreign; /* all events of that turn were of other processes */
	} tracepoint;
};

/* ---- checks ------------------------------------------------------------------ */

static bool has_capability(unsigned int bit)
{
	unsigned long long effective = 0;
	char line[256];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "CapEff: %llx", &effective) == 1)
			break;
	if (f)
		fclose(f);
	return effective >> bit & 1;
}

static int check_privilege(struct error *why)
{
	enum { SYS_ADMIN = 21, PERFMON = 38, BPF = 39 };

	if (has_capability(SYS_ADMIN) || (has_capability(PERFMON) && has_capability(BPF)))
		return 0;
	return error_set(why, -EPERM, "it needs the capabilities CAP_BPF and CAP_PERFMON, or root");
}

static int bpf_probe(const struct sampler_config *config, struct error *why)
{
	struct perf_event_attr attr;
	struct sampler_bpf *skel;
	enum perf_event_kind kind;
	int err, event;

	if (config->verify)
		return error_set(why, -EOPNOTSUPP,
				 "it cannot read the stack, which --verify needs; use -b self");
	err = perf_event_make_attr(config, &attr, &kind, why);
	if (!err)
		err = check_privilege(why);
	if (err)
		return err;
	event = perf_event_create(&attr, 0, -1);
	if (event < 0)
		return perf_event_explain(config, -errno, why);
	err = bpf_program_load(kind, &attr, config->copy, &skel, why);
	if (!err) {
		err = bpf_program_attach(skel, kind, event);
		if (err)
			error_set(why, 0, "cannot run a BPF program on the event %s: %s",
				  config->event, strerror(-err));
		sampler_bpf__destroy(skel);
	}
	close(event);
	return err;
}

/* ---- start ---------------------------------------------------------------------- */

static void bpf_destroy(struct sampler *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->n_events; i++)
		close(s->events[i]);
	free(s->events);
	hash_free(s->watched, free);
	free(s->births);
	bpf_ring_close(s->rings);
	event_queue_close(s->delivery);
	if (s->skel)
		sampler_bpf__destroy(s->skel);
	free(s);
}

static int add_bpf_sample(void *ctx, const struct pcce_sample *sample, size_t size)
{
	struct sampler *s = ctx;

	if (!event_queue_add(s->delivery, sample, size))
		return -ENOMEM;
	s->taken++;
	return 0;
}

static int bpf_prepare(const struct sampler_config *config, struct sampler **out, struct error *why)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int err;

	error_set(why, 0, "out of memory");
	if (!s)
		return -ENOMEM;
	s->config = *config;
	err = perf_event_make_attr(config, &s->attr, &s->kind, why);
	if (!err)
		err = bpf_program_load(s->kind, &s->attr, config->copy, &s->skel, why);
	if (!err)
		err = event_queue_open((int64_t *)s->skel->bss->offsets, &s->skel->bss->n_offsets,
				       SAMPLER_OFFSETS, config->program, &s->delivery, why);
	if (err)
		goto fail;
	err = bpf_ring_open(bpf_map__fd(s->skel->maps.controls), bpf_map__fd(s->skel->maps.rings),
			    libbpf_num_possible_cpus(), &s->rings);
	if (err) {
		error_set(why, 0, "cannot map the rings: %s", strerror(-err));
		goto fail;
	}
	*out = s;
	return 0;
fail:
	bpf_destroy(s);
	return err;
}

static int open_thread_event(struct sampler *s, pid_t tid, int cpu)
{
	int event, err;

	event = perf_event_create(&s->attr, tid, cpu);
	if (event < 0)
		return -errno;
	err = bpf_program_attach(s->skel, s->kind, event);
	if (!err)
		err = array_grow(&s->events, s->n_events, sizeof(*s->events));
	if (err) {
		close(event);
		return err;
	}
	s->events[s->n_events++] = event;
	return 0;
}

static int watch_thread(struct sampler *s, pid_t tid, uint64_t since)
{
	struct watched *w = malloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->tid = tid;
	w->since = since;
	HASH_ADD_INT(s->watched, tid, w);
	if (hash_added(w))
		return 0;
	free(w);
	return -ENOMEM;
}

static struct watched *find_watched(const struct sampler *s, pid_t tid)
{
	struct watched *w;

	HASH_FIND_INT(s->watched, &tid, w);
	return w;
}

/* Notes the creation of a thread while events are being opened. */
static int on_birth(void *ctx, const struct perf_sideband_event *e)
{
	struct sampler *s = ctx;

	if (e->type != SIDEBAND_FORK || e->pid != s->pid)
		return 0;
	if (array_grow(&s->births, s->n_births, sizeof(*s->births)))
		return -ENOMEM;
	s->births[s->n_births++] = (struct birth){e->tid, e->ptid, e->time};
	return 0;
}

/* Whether this thread inherited an event. *since: the time of its creation. */
static bool has_inherited_event(const struct sampler *s, pid_t tid, uint64_t *since)
{
	size_t i;

	for (i = 0; i < s->n_births; i++) {
		const struct birth *b = &s->births[i];
		const struct watched *parent;

		if (b->tid != tid)
			continue;
		parent = find_watched(s, b->parent);
		*since = b->time;
		return parent && b->time >= parent->since;
	}
	return false;
}

/* Opens events for all threads of the target that have none. Returns the number of new threads, or
 * -errno. */
static int watch_threads(struct sampler *s)
{
	char path[64];
	struct dirent *entry;
	int fresh = 0, err = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)s->pid);
	d = opendir(path);
	if (!d)
		return -ESRCH;
	while (!err && (entry = readdir(d))) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		uint64_t since = 0;

		if (tid <= 0 || find_watched(s, tid))
			continue;
		err = event_queue_listen(s->delivery, on_birth, s);
		if (err)
			break;
		if (!has_inherited_event(s, tid, &since)) {
			err = open_thread_event(s, tid, -1);
			if (err == -ESRCH) { /* the thread has ended */
				err = 0;
				continue;
			}
			since = event_queue_now();
		}
		if (!err)
			err = watch_thread(s, tid, since);
		fresh++;
	}
	closedir(d);
	return err ? err : fresh;
}

static int follow_by_map(struct sampler *s, pid_t pid, bool armed)
{
	struct sampler_process p = {.armed = armed};
	uint32_t key = (uint32_t)pid;

	return bpf_map_update_elem(bpf_map__fd(s->skel->maps.processes), &key, &p, BPF_ANY);
}

static int start_tracepoint(struct sampler *s, struct error *why)
{
	int err;

	/* One event for the whole tracepoint. Its task and CPU do not matter to the program. */
	s->attr.inherit = 0;
	s->attr.freq = 0;
	s->attr.sample_period = 1;
	if (sampler_bpf__attach(s->skel))
		return error_set(why, -errno,
				 "cannot attach the BPF programs for fork and exec: %s",
				 strerror(errno));
	err = 0;
	if (s->skel->rodata->pidns_ino) { /* the kernel has another number for this process */
		s->skel->bss->wanted_armed = s->config.target != 0;
		s->skel->bss->wanted = (uint32_t)s->pid;
	} else {
		err = follow_by_map(s, s->pid, s->config.target);
	}
	if (!err)
		err = open_thread_event(s, -1, 0);
	if (!err && ioctl(s->events[0], PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	return err ? perf_event_explain(&s->config, err, why) : 0;
}

static int start_command(struct sampler *s, struct error *why)
{
	int err;

	s->attr.enable_on_exec = 1;
	err = open_thread_event(s, s->pid, -1);
	return err ? perf_event_explain(&s->config, err, why) : 0;
}

static int start_running(struct sampler *s, struct error *why)
{
	size_t i;
	int fresh;

	/* Repeat until no thread is new. Threads that are created later inherit an event. */
	while ((fresh = watch_threads(s)) > 0)
		;
	if (fresh < 0) {
		if (fresh == -ESRCH)
			error_set(why, 0, "process %d has ended", (int)s->pid);
		else
			perf_event_explain(&s->config, fresh, why);
		return fresh;
	}
	for (i = 0; i < s->n_events; i++)
		if (ioctl(s->events[i], PERF_EVENT_IOC_ENABLE, 0))
			return perf_event_explain(&s->config, -errno, why);
	return 0;
}

/* Opens new events after an exec of a set-uid program. Some milliseconds are missing anyway, so the
 * threads are listed only once, unlike in start_running(). No thread may get two events: threads
 * that are created later inherit theirs. */
static int bpf_reattach(void *ctx, const struct perf_sideband_event *exec)
{
	struct sampler *s = ctx;
	struct watched *w = find_watched(s, exec->pid);
	pid_t tids[64];
	size_t n = 0, i;
	char path[64];
	struct dirent *entry;
	DIR *d;

	if (w && w->since >= exec->time) /* a later exec has already done it */
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)exec->pid);
	d = opendir(path);
	while (d && n < sizeof(tids) / sizeof(tids[0]) && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			tids[n++] = (pid_t)atoi(entry->d_name);
	if (d)
		closedir(d);
	for (i = 0; i < n; i++)
		if (!open_thread_event(s, tids[i], -1))
			ioctl(s->events[s->n_events - 1], PERF_EVENT_IOC_ENABLE, 0);
	if (w)
		w->since = event_queue_now();
	return w ? 0 : watch_thread(s, exec->pid, event_queue_now());
}

static int bpf_start(struct sampler *s, pid_t pid, struct error *why)
{
	int err;

	/* The rings must be read in time even if the recorded threads keep all CPUs busy. If this
	 * is not permitted, continue without it. */
	setpriority(PRIO_PROCESS, 0, -10);
	s->pid = pid;
	err = event_queue_begin(s->delivery, pid, s->config.target,
				s->kind == PERF_EVENT_TRACEPOINT ? NULL : bpf_reattach, s);
	if (err)
		return error_set(why, err, "out of memory");
	if (s->kind == PERF_EVENT_TRACEPOINT)
		return start_tracepoint(s, why);
	return s->config.target ? start_running(s, why) : start_command(s, why);
}

/* ---- delivery ------------------------------------------------------------------- */

static int report_drops(struct sampler *s, struct stream *sink)
{
	uint64_t total = bpf_ring_dropped(s->rings), fresh = total - s->drops;

	s->drops = total;
	return fresh ? stream_lost(sink, event_queue_now(), PCCE_LOSS_RING, fresh) : 0;
}

static int report_throttled(struct sampler *s, struct stream *sink, uint64_t total)
{
	uint64_t fresh = total - s->throttled;

	s->throttled = total;
	return fresh ? stream_lost(sink, event_queue_now(), PCCE_LOSS_THROTTLE, fresh) : 0;
}

/* Each throttling of an event costs at least one sample. */
static int report_throttlings(struct sampler *s, struct stream *sink)
{
	return report_throttled(s, sink, bpf_ring_throttled(s->rings));
}

static int report_late(struct sampler *s, struct stream *sink)
{
	uint64_t total = bpf_ring_late(s->rings), fresh = total - s->late;

	s->late = total;
	return fresh ? stream_lost(sink, event_queue_now(), PCCE_LOSS_LATE, fresh) : 0;
}

struct event_counts {
	uint64_t count, running; /* running: ns */
};

/* Returns the sums over all threads. */
static struct event_counts read_events(const struct sampler *s)
{
	struct event_counts sum = {0}, one;

	for (size_t i = 0; i < s->n_events; i++) {
		if (read(s->events[i], &one, sizeof(one)) != sizeof(one))
			continue;
		sum.count += one.count;
		sum.running += one.running;
	}
	return sum;
}

/* Returns the ns between two samples of a clock. */
static uint64_t clock_period(const struct sampler *s)
{
	return s->attr.freq ? 1000000000 / s->attr.sample_freq : s->attr.sample_period;
}

/*
 * Computes the samples that throttling cost. This is possible for clocks: the events' time on CPUs
 * gives the expected number of samples. (Without throttling some are missing too, for example if a
 * virtual machine lost its CPU, or another BPF program ran. bpf_account() tells.) A kernel before
 * 6.2 does not tell the program about throttling. It throttles a clock only if the clock exceeds
 * the limit.
 */
static int report_clock_deficit(struct sampler *s, struct stream *sink)
{
	uint64_t period = clock_period(s), due;

	if (s->kind != PERF_EVENT_CLOCK)
		return 0;
	if (!s->throttled) {
		unsigned int limit = s->skel->rodata->event_known ? 0 : perf_event_rate_limit();

		if (!limit || limit >= 1000000000 / period)
			return 0;
	}
	due = read_events(s).running / period;
	return due > s->taken + s->drops + s->late + s->throttled
		       ? report_throttled(s, sink, due - s->taken - s->drops - s->late)
		       : 0;
}

/*
 * Reports the events of a tracepoint at which the kernel did not run the program. The kernel counts
 * them for the whole system, not by process. So they count as lost, unless all events up to the
 * next turn with events were of processes that are not followed.
 */
static int report_missed(struct sampler *s, struct stream *sink, bool last)
{
	uint64_t missed, followed, others, fresh;

	if (s->kind != PERF_EVENT_TRACEPOINT)
		return 0;
	missed = bpf_program_missed(s->skel);
	followed = s->taken + s->drops;
	others = bpf_ring_others(s->rings);
	if (followed != s->tracepoint.followed || others != s->tracepoint.others)
		s->tracepoint.foreign = followed == s->tracepoint.followed;
	else if (!last)
		return 0;
	fresh = missed - s->tracepoint.missed;
	s->tracepoint.missed = missed;
	s->tracepoint.followed = followed;
	s->tracepoint.others = others;
	if (!fresh || s->tracepoint.foreign)
		return 0;
	return stream_lost(sink, event_queue_now(), PCCE_LOSS_NESTED, fresh);
}

static int bpf_turn(struct sampler *s, struct stream *sink, bool last)
{
	uint64_t limit = event_queue_now() - EVENT_QUEUE_MARGIN;
	int err = bpf_ring_read(s->rings, add_bpf_sample, s);

	if (!err)
		err = event_queue_listen(s->delivery, NULL, NULL);
	if (!err)
		err = event_queue_flush(s->delivery, sink, last ? UINT64_MAX : limit);
	if (!err)
		err = report_drops(s, sink);
	if (!err)
		err = report_throttlings(s, sink);
	if (!err)
		err = report_late(s, sink);
	if (!err)
		err = report_missed(s, sink, last);
	return err || !last ? err : report_clock_deficit(s, sink);
}

static int bpf_poll(struct sampler *s, struct stream *sink, int timeout_ms)
{
	int turn_ms = bpf_ring_busy(s->rings) ? BUSY_TURN : TURN;
	int err;

	/* Samples do not wake us. They wait in the rings for the next turn. */
	err = event_queue_wait(s->delivery, timeout_ms < turn_ms ? timeout_ms : turn_ms);
	return err ? err : bpf_turn(s, sink, false);
}

static int bpf_stop(struct sampler *s, struct stream *sink)
{
	size_t i;

	for (i = 0; i < s->n_events; i++)
		ioctl(s->events[i], PERF_EVENT_IOC_DISABLE, 0);
	return bpf_turn(s, sink, true);
}

/*
 * The kernel counts the events whatever else runs on the CPU. It does not count for which of them
 * it ran no program, except for tracepoints (report_missed()). With a frequency, it changes the
 * period of all events but clocks, so that the number of samples is not known.
 */
static void bpf_account(struct sampler *s, struct sampler_due *due)
{
	switch (s->kind) {
	case PERF_EVENT_CLOCK:
		due->known = due->with_rests = true;
		due->due = read_events(s).running / clock_period(s);
		break;
	case PERF_EVENT_COUNT:
		due->known = due->with_rests = !s->attr.freq;
		due->due = s->attr.freq ? 0 : read_events(s).count / s->attr.sample_period;
		break;
	case PERF_EVENT_TRACEPOINT:
		due->known = bpf_counts_missed();
		break;
	}
}

static void bpf_shorten(struct sampler *s, uint32_t words)
{
	s->skel->data->stack_bytes = words * 8;
}

static uint64_t bpf_copied(const struct sampler *s)
{
	return bpf_ring_copied(s->rings);
}

const struct sampler_ops sampler_bpf = {
	.name = "bpf",
	.what = "in the kernel; needs privilege",
	.probe = bpf_probe,
	.prepare = bpf_prepare,
	.start = bpf_start,
	.poll = bpf_poll,
	.stop = bpf_stop,
	.account = bpf_account,
	.shorten = bpf_shorten,
	.copied = bpf_copied,
	.destroy = bpf_destroy,
};
