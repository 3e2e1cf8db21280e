/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sampler that the kernel runs: bpf/sampler.bpf.c on a perf event.
 *
 * Events.  One perf event for each thread that exists at the start (for a command: one,
 * enabled by its exec), for any CPU, inherited by the threads and processes that they
 * create.  The BPF program replaces the events' own output, so they need no buffers,
 * and cost one descriptor each.  Tracepoints are different: a BPF program on a tracepoint
 * runs for the whole system; it is attached once, and asks a map of processes.
 *
 * Order.  See event_queue.h.
 *
 * Attaching to a running process.  Threads are created while their brothers are given
 * events.  A thread is born with its creator's event if that was ready by then, so one
 * that shows up late gets its own event only if its creator had none when it was
 * born; the side band tells both.  Thus no thread is missed and none sampled twice.
 */
#define _GNU_SOURCE
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
#include <uthash.h>

#include "bpf/sampler.h"
#include "sampler/bpf_load.h"
#include "sampler/perf_event.h"
#include "sampler/bpf_ring.h"
#include "sampler/sampler.h"
#include "sampler/event_queue.h"

#define TURN 10	    /* ms: how long things wait in the buffers */
#define BUSY_TURN 2 /* the same, when they fill quickly */

/* A thread that has an event: its own, or one inherited. */
struct watched {
	pid_t tid;
	uint64_t since; /* from then on, what it creates inherits the event */
	UT_hash_handle hh;
};

struct birth { /* threads of the target, as they were born while events were being opened */
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
	uint64_t throttled; /* samples that throttling has cost, as far as the sink knows */
};

/* ---- can it work ---------------------------------------------------------------- */

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
				 "it cannot look at the real stack, which --verify needs");
	if (config->aggregate)
		return error_set(
			why, -EOPNOTSUPP,
			"it cannot count equal samples, which --aggregate asks for; use -b kmod");
	err = perf_event_make_attr(config, &attr, &kind, why);
	if (!err)
		err = check_privilege(why);
	if (err)
		return err;
	event = perf_event_create(&attr, 0, -1);
	if (event < 0)
		return perf_event_explain(config, -errno, why);
	err = bpf_program_load(kind, &attr, &skel, why);
	if (!err) {
		err = bpf_program_attach(skel, kind, event);
		if (err)
			error_set(why, 0,
				  "the kernel does not let a BPF program handle the event %s: %s",
				  config->event, strerror(-err));
		sampler_bpf__destroy(skel);
	}
	close(event);
	return err;
}

/* ---- start ---------------------------------------------------------------------- */

static void raise_file_limit(void)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void bpf_destroy(struct sampler *s)
{
	struct watched *w, *next;
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->n_events; i++)
		close(s->events[i]);
	free(s->events);
	HASH_ITER (hh, s->watched, w, next) {
		HASH_DEL(s->watched, w);
		free(w);
	}
	free(s->births);
	bpf_ring_close(s->rings);
	event_queue_close(s->delivery);
	if (s->skel)
		sampler_bpf__destroy(s->skel);
	free(s);
}

static int on_sample(void *ctx, const struct pcce_sample *sample, size_t size)
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
		err = bpf_program_load(s->kind, &s->attr, &s->skel, why);
	if (!err)
		err = event_queue_open((int64_t *)s->skel->bss->offsets, &s->skel->bss->n_offsets,
				       SAMPLER_OFFSETS, config->program, &s->delivery, why);
	if (err)
		goto fail;
	raise_file_limit();
	err = bpf_ring_open(bpf_map__fd(s->skel->maps.controls), bpf_map__fd(s->skel->maps.rings),
			    libbpf_num_possible_cpus(), &s->rings);
	if (err) {
		error_set(why, 0, "the rings cannot be mapped: %s", strerror(-err));
		goto fail;
	}
	*out = s;
	return 0;
fail:
	bpf_destroy(s);
	return err;
}

static int add_event(struct sampler *s, pid_t tid, int cpu)
{
	int event, err, *grown;

	event = perf_event_create(&s->attr, tid, cpu);
	if (event < 0)
		return -errno;
	err = bpf_program_attach(s->skel, s->kind, event);
	grown = err ? NULL : realloc(s->events, (s->n_events + 1) * sizeof(*grown));
	if (!grown) {
		close(event);
		return err ? err : -ENOMEM;
	}
	s->events = grown;
	s->events[s->n_events++] = event;
	return 0;
}

static int watch(struct sampler *s, pid_t tid, uint64_t since)
{
	struct watched *w = malloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->tid = tid;
	w->since = since;
	HASH_ADD_INT(s->watched, tid, w);
	return 0;
}

static struct watched *watched(const struct sampler *s, pid_t tid)
{
	struct watched *w;

	HASH_FIND_INT(s->watched, &tid, w);
	return w;
}

/* The side band, while events are being opened: births are noted. */
static int on_birth(void *ctx, const struct perf_sideband_event *e)
{
	struct sampler *s = ctx;
	struct birth *grown;

	if (e->type != SIDEBAND_FORK || e->pid != s->pid)
		return 0;
	grown = realloc(s->births, (s->n_births + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->births = grown;
	s->births[s->n_births++] = (struct birth){e->tid, e->ptid, e->time};
	return 0;
}

/* Was this thread born with an event? */
static bool inherited(const struct sampler *s, pid_t tid, uint64_t *since)
{
	size_t i;

	for (i = 0; i < s->n_births; i++) {
		const struct birth *b = &s->births[i];
		const struct watched *parent;

		if (b->tid != tid)
			continue;
		parent = watched(s, b->parent);
		*since = b->time;
		return parent && b->time >= parent->since;
	}
	return false;
}

/* Gives events to all threads of the target that have none. The number of threads that were new, or
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

		if (tid <= 0 || watched(s, tid))
			continue;
		err = event_queue_listen(s->delivery, on_birth, s);
		if (err)
			break;
		if (!inherited(s, tid, &since)) {
			err = add_event(s, tid, -1);
			if (err == -ESRCH) { /* it has ended */
				err = 0;
				continue;
			}
			since = event_queue_now();
		}
		if (!err)
			err = watch(s, tid, since);
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

	/* One event for the tracepoint as a whole; which task or CPU it names makes no difference
	 * to the program. */
	s->attr.inherit = 0;
	s->attr.freq = 0;
	s->attr.sample_period = 1;
	if (sampler_bpf__attach(s->skel))
		return error_set(why, -errno,
				 "the programs that follow fork and exec cannot be attached: %s",
				 strerror(errno));
	err = 0;
	if (s->skel->rodata->pidns_ino) { /* our number is not the kernel's own */
		s->skel->bss->wanted_armed = s->config.target != 0;
		s->skel->bss->wanted = (uint32_t)s->pid;
	} else {
		err = follow_by_map(s, s->pid, s->config.target);
	}
	if (!err)
		err = add_event(s, -1, 0);
	if (!err && ioctl(s->events[0], PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	return err ? perf_event_explain(&s->config, err, why) : 0;
}

static int start_command(struct sampler *s, struct error *why)
{
	int err;

	s->attr.enable_on_exec = 1;
	err = add_event(s, s->pid, -1);
	return err ? perf_event_explain(&s->config, err, why) : 0;
}

static int start_running(struct sampler *s, struct error *why)
{
	size_t i;
	int fresh;

	/* Until two looks in a row find the same threads: what is born after that has an event. */
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

/* After an exec of a set-uid program: new events, as in start_running(); but here some milliseconds
 * are missing anyway, so one look at its threads is enough. None may get two: threads that are born
 * from now on inherit theirs. */
static int reattach(void *ctx, const struct perf_sideband_event *exec)
{
	struct sampler *s = ctx;
	struct watched *w = watched(s, exec->pid);
	pid_t tids[64];
	size_t n = 0, i;
	char path[64];
	struct dirent *entry;
	DIR *d;

	if (w && w->since >= exec->time) /* done already, after another exec that came later */
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)exec->pid);
	d = opendir(path);
	while (d && n < sizeof(tids) / sizeof(tids[0]) && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			tids[n++] = (pid_t)atoi(entry->d_name);
	if (d)
		closedir(d);
	for (i = 0; i < n; i++)
		if (!add_event(s, tids[i], -1))
			ioctl(s->events[s->n_events - 1], PERF_EVENT_IOC_ENABLE, 0);
	if (w)
		w->since = event_queue_now();
	return w ? 0 : watch(s, exec->pid, event_queue_now());
}

static int bpf_start(struct sampler *s, pid_t pid, struct error *why)
{
	int err;

	/* The rings must be read in time even if everything that is recorded keeps the CPUs busy.
	 * Without the right to do that, it has to work as it is. */
	setpriority(PRIO_PROCESS, 0, -10);
	s->pid = pid;
	err = event_queue_begin(s->delivery, pid, s->config.target,
				s->kind == PERF_EVENT_TRACEPOINT ? NULL : reattach, s);
	if (err)
		return error_set(why, err, "out of memory");
	if (s->kind == PERF_EVENT_TRACEPOINT)
		return start_tracepoint(s, why);
	return s->config.target ? start_running(s, why) : start_command(s, why);
}

/* ---- delivery ------------------------------------------------------------------- */

static int count_drops(struct sampler *s, const struct sampler_sink *sink)
{
	uint64_t total = bpf_ring_dropped(s->rings), fresh = total - s->drops;

	s->drops = total;
	return fresh ? sink->lost(sink->ctx, event_queue_now(), PCCE_LOSS_RING, fresh) : 0;
}

static int throttled(struct sampler *s, const struct sampler_sink *sink, uint64_t total)
{
	uint64_t fresh = total - s->throttled;

	s->throttled = total;
	return fresh ? sink->lost(sink->ctx, event_queue_now(), PCCE_LOSS_THROTTLE, fresh) : 0;
}

/* Each time that the kernel throttles an event costs a sample at least. */
static int count_throttlings(struct sampler *s, const struct sampler_sink *sink)
{
	return throttled(s, sink, bpf_ring_throttled(s->rings));
}

/*
 * How many samples throttling has cost in all is known of clocks: as many as the time that the
 * events were on a CPU is worth, less those that there are.  (Without throttling, some are missing
 * too, as when a virtual machine's CPU was taken away: that is not counted.)  A kernel that does
 * not tell the program that it throttles (before 6.2) does so to a clock only if the limit is too
 * low for it.
 */
static int count_throttled(struct sampler *s, const struct sampler_sink *sink)
{
	struct {
		uint64_t count, running;
	} value;
	uint64_t running = 0,
		 period = s->attr.freq ? 1000000000 / s->attr.sample_freq : s->attr.sample_period,
		 due;
	size_t i;

	if (s->kind != PERF_EVENT_CLOCK)
		return 0;
	if (!s->throttled) {
		unsigned int limit = s->skel->rodata->event_known ? 0 : perf_event_rate_limit();

		if (!limit || limit >= 1000000000 / period)
			return 0;
	}
	for (i = 0; i < s->n_events; i++)
		if (read(s->events[i], &value, sizeof(value)) == sizeof(value))
			running += value.running;
	due = running / period;
	return due > s->taken + s->drops + s->throttled
		       ? throttled(s, sink, due - s->taken - s->drops)
		       : 0;
}

static int turn(struct sampler *s, const struct sampler_sink *sink, bool last)
{
	uint64_t limit = event_queue_now() - EVENT_QUEUE_MARGIN;
	int err = bpf_ring_read(s->rings, on_sample, s);

	if (!err)
		err = event_queue_listen(s->delivery, NULL, NULL);
	if (!err)
		err = event_queue_flush(s->delivery, sink, last ? UINT64_MAX : limit);
	if (!err)
		err = count_drops(s, sink);
	if (!err)
		err = count_throttlings(s, sink);
	return err || !last ? err : count_throttled(s, sink);
}

static int bpf_poll(struct sampler *s, const struct sampler_sink *sink, int timeout_ms)
{
	int turn_ms = bpf_ring_busy(s->rings) ? BUSY_TURN : TURN;
	int err;

	/* Nothing wakes us for samples: they wait in the rings for a turn. */
	err = event_queue_wait(s->delivery, timeout_ms < turn_ms ? timeout_ms : turn_ms);
	return err ? err : turn(s, sink, false);
}

static int bpf_stop(struct sampler *s, const struct sampler_sink *sink)
{
	size_t i;

	for (i = 0; i < s->n_events; i++)
		ioctl(s->events[i], PERF_EVENT_IOC_DISABLE, 0);
	return turn(s, sink, true);
}

const struct sampler_ops sampler_bpf = {
	.name = "bpf",
	.probe = bpf_probe,
	.prepare = bpf_prepare,
	.start = bpf_start,
	.poll = bpf_poll,
	.stop = bpf_stop,
	.destroy = bpf_destroy,
};
