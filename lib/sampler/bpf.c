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
 * Several events. Each event of the recording has its own BPF program, since a program's constants
 * say what kind of event it serves, and its number. An inherited event cannot have a value by which
 * one program could tell. The programs share their maps, so there is one ring for each CPU, and
 * samples of all events are in order.
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
#include "sampler/bpf_waits.h"
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

/* What belongs to one event of the recording. */
struct probe {
	const struct sampler_event *event;
	struct perf_event_attr attr;
	enum perf_event_kind kind;
	struct sampler_bpf *skel;
	int *fds; /* perf events */
	size_t n_fds;
	struct watched *watched;
	uint64_t taken;
	struct sampler_counts told; /* what the sink was told of losses */
	struct {
		/* Counts at the last turn with events. */
		uint64_t missed, followed, others;
		bool foreign; /* all events of that turn were of other processes */
	} tracepoint;
};

struct sampler {
	struct sampler_config config;
	struct probe probes[SAMPLER_EVENTS]; /* as config.events */
	struct bpf_ring *rings;
	struct event_queue *delivery;
	struct birth *births;
	size_t n_births;
	pid_t pid;
};

/* All programs share the maps of the first. */
static struct sampler_bpf *first_program(const struct sampler *s)
{
	return s->probes[0].skel;
}

/* Returns the ns between two samples of a clock. */
static uint64_t clock_period(const struct probe *p)
{
	return p->attr.freq ? 1000000000 / p->attr.sample_freq : p->attr.sample_period;
}

/* Whether each thread has its own event of perf. */
static bool is_of_threads(const struct probe *p)
{
	return p->kind != PERF_EVENT_TRACEPOINT && p->kind != PERF_EVENT_WAITS;
}

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

/* ---- start ---------------------------------------------------------------------- */

static void close_probe(struct probe *p)
{
	for (size_t i = 0; i < p->n_fds; i++)
		close(p->fds[i]);
	free(p->fds);
	hash_free(p->watched, free);
	if (p->skel)
		sampler_bpf__destroy(p->skel);
}

static void bpf_destroy(struct sampler *s)
{
	if (!s)
		return;
	bpf_ring_close(s->rings);
	for (uint32_t i = 0; i < s->config.n_events; i++)
		close_probe(&s->probes[i]);
	free(s->births);
	event_queue_close(s->delivery);
	free(s);
}

static int add_bpf_sample(void *ctx, const struct pcce_sample *sample, size_t size,
			  const uint64_t *kernel)
{
	struct sampler *s = ctx;

	if (event_queue_add(s->delivery, sample, size, kernel))
		return -ENOMEM;
	s->probes[sample->event % SAMPLER_EVENTS].taken += !(sample->flags & PCCE_SAMPLE_CARRIER);
	return 0;
}

static int load_probe(struct sampler *s, struct probe *p, struct error *why)
{
	struct bpf_program_config config = {
		.kind = p->kind,
		.attr = &p->attr,
		.copy = s->config.copy,
		.number = (uint32_t)(p - s->probes),
		.wait_period = p->kind == PERF_EVENT_WAITS ? clock_period(p) : 0,
		.running = s->config.target != 0,
		.first = p == s->probes ? NULL : first_program(s),
	};

	for (uint32_t i = 0; i < s->config.n_events; i++)
		config.beside_waits |= s->probes[i].kind == PERF_EVENT_WAITS;
	return bpf_program_load(&config, &p->skel, why);
}

/* Loads the program of an event, and tries it with one that does not count yet. */
static int prepare_probe(struct sampler *s, struct probe *p, struct error *why)
{
	int event = perf_event_create(&p->attr, 0, -1), err;

	if (event < 0)
		return perf_event_explain(p->event, -errno, why);
	err = load_probe(s, p, why);
	if (!err && p->kind != PERF_EVENT_WAITS) {
		err = bpf_program_attach(p->skel, p->kind, event);
		if (err)
			error_set(why, 0, "cannot run a BPF program on the event %s: %s",
				  p->event->name, strerror(-err));
	}
	close(event);
	/* Of a tracepoint, the program has run until now. */
	if (!err)
		p->tracepoint.missed = bpf_program_missed(p->skel);
	return err;
}

static int prepare_probes(struct sampler *s, struct error *why)
{
	int err = 0;

	for (uint32_t i = 0; i < s->config.n_events && !err; i++) {
		struct probe *p = &s->probes[i];

		p->event = &s->config.events[i];
		err = perf_event_make_attr(p->event, &p->attr, &p->kind, why);
	}
	if (!err)
		err = check_privilege(why);
	for (uint32_t i = 0; i < s->config.n_events && !err; i++)
		err = prepare_probe(s, &s->probes[i], why);
	return err;
}

static int load_sampler(const struct sampler_config *config, struct sampler **out,
			struct error *why)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return error_memory(why);
	s->config = *config;
	err = prepare_probes(s, why);
	if (err)
		bpf_destroy(s);
	else
		*out = s;
	return err;
}

/* What the last probe loaded. A recording with the same events takes it over, since the kernel's
 * check of a program takes long. */
static struct sampler *probed;

static int bpf_probe(const struct sampler_config *config, struct error *why)
{
	if (config->verify)
		return error_set(why, -EOPNOTSUPP,
				 "it cannot read the stack, which --verify needs; use -b self");
	bpf_destroy(probed);
	return load_sampler(config, &probed, why);
}

static struct sampler *take_probed(const struct sampler_config *config)
{
	struct sampler *s = probed;

	if (!s || s->config.events != config->events || s->config.n_events != config->n_events ||
	    s->config.target != config->target || s->config.copy != config->copy)
		return NULL;
	probed = NULL;
	s->config = *config;
	return s;
}

static int bpf_prepare(const struct sampler_config *config, struct sampler **out, struct error *why)
{
	struct sampler *s = take_probed(config);
	struct sampler_bpf *first;
	int err = s ? 0 : load_sampler(config, &s, why);

	if (err)
		return err;
	first = first_program(s);
	err = event_queue_open((int64_t *)first->bss->offsets, &first->bss->n_offsets,
			       SAMPLER_OFFSETS, config->program, &s->delivery, why);
	if (err)
		goto fail;
	err = bpf_ring_open(bpf_map__fd(first->maps.controls), bpf_map__fd(first->maps.rings),
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

static int open_thread_event(struct probe *p, pid_t tid, int cpu)
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

static int watch_thread(struct probe *p, pid_t tid, uint64_t since)
{
	struct watched *w = malloc(sizeof(*w));

	if (!w)
		return -ENOMEM;
	w->tid = tid;
	w->since = since;
	return hash_add(p->watched, tid, w) ? 0 : -ENOMEM;
}

static struct watched *find_watched(const struct probe *p, pid_t tid)
{
	struct watched *w;

	HASH_FIND_INT(p->watched, &tid, w);
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
static bool has_inherited_event(const struct sampler *s, const struct probe *p, pid_t tid,
				uint64_t *since)
{
	size_t i;

	for (i = 0; i < s->n_births; i++) {
		const struct birth *b = &s->births[i];
		const struct watched *parent;

		if (b->tid != tid)
			continue;
		parent = find_watched(p, b->parent);
		*since = b->time;
		return parent && b->time >= parent->since;
	}
	return false;
}

/* Opens perf events for all threads of the target that have none of this event. Returns the number
 * of new threads, or -errno. */
static int watch_threads(struct sampler *s, struct probe *p)
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

		if (tid <= 0 || find_watched(p, tid))
			continue;
		err = event_queue_listen(s->delivery, on_birth, s);
		if (err)
			break;
		if (!has_inherited_event(s, p, tid, &since)) {
			err = open_thread_event(p, tid, -1);
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

/* Begins to follow the process and its children in the map of processes. */
static int follow_process(struct sampler *s, struct probe *p, struct error *why)
{
	int err;

	if (sampler_bpf__attach(p->skel))
		return error_set(why, -errno,
				 "cannot attach the BPF programs for fork and exec: %s",
				 strerror(errno));
	err = bpf_program_follow(first_program(s), s->pid, s->config.target);
	return err ? perf_event_explain(p->event, err, why) : 0;
}

static int start_tracepoint(struct probe *p, struct error *why)
{
	int err;

	/* One event for the whole tracepoint. Its task and CPU do not matter to the program. */
	p->attr.inherit = 0;
	p->attr.freq = 0;
	p->attr.sample_period = 1;
	err = open_thread_event(p, -1, 0);
	if (!err && ioctl(p->fds[0], PERF_EVENT_IOC_ENABLE, 0))
		err = -errno;
	return err ? perf_event_explain(p->event, err, why) : 0;
}

static int add_carrier(void *ctx, const struct pcce_sample *sample, size_t size)
{
	struct sampler *s = ctx;

	return event_queue_add(s->delivery, sample, size, NULL);
}

static int start_waits(struct sampler *s, struct probe *p, struct error *why)
{
	int err = s->config.target ? bpf_program_begin_waits(p->skel) : 0;

	if (!err && s->config.target)
		err = bpf_waits_carry(bpf_map__fd(p->skel->maps.waiting), event_queue_now(),
				      add_carrier, s);
	return err ? error_set(why, err, "cannot read where the threads wait: %s", strerror(-err))
		   : 0;
}

static int start_command(struct sampler *s, struct probe *p, struct error *why)
{
	int err;

	p->attr.enable_on_exec = 1;
	err = open_thread_event(p, s->pid, -1);
	return err ? perf_event_explain(p->event, err, why) : 0;
}

static int start_running(struct sampler *s, struct probe *p, struct error *why)
{
	int fresh;

	/* Repeat until no thread is new. Threads that are created later inherit an event. */
	while ((fresh = watch_threads(s, p)) > 0)
		;
	if (fresh < 0) {
		if (fresh == -ESRCH)
			error_set(why, 0, "process %d has ended", (int)s->pid);
		else
			perf_event_explain(p->event, fresh, why);
		return fresh;
	}
	for (size_t i = 0; i < p->n_fds; i++)
		if (ioctl(p->fds[i], PERF_EVENT_IOC_ENABLE, 0))
			return perf_event_explain(p->event, -errno, why);
	return 0;
}

/* Opens new events for these threads of a process. No thread may get two events: threads that are
 * created later inherit theirs. */
static int reattach_probe(struct probe *p, const struct perf_sideband_event *exec,
			  const pid_t *tids, size_t n)
{
	struct watched *w = find_watched(p, exec->pid);

	if (w && w->since >= exec->time) /* a later exec has already done it */
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!open_thread_event(p, tids[i], -1))
			ioctl(p->fds[p->n_fds - 1], PERF_EVENT_IOC_ENABLE, 0);
	if (w)
		w->since = event_queue_now();
	return w ? 0 : watch_thread(p, exec->pid, event_queue_now());
}

/* Opens new events after an exec of a set-uid program. Some milliseconds are missing anyway, so the
 * threads are listed only once, unlike in start_running(). */
static int bpf_reattach(void *ctx, const struct perf_sideband_event *exec)
{
	struct sampler *s = ctx;
	pid_t tids[64];
	size_t n = 0;
	char path[64];
	struct dirent *entry;
	int err = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)exec->pid);
	d = opendir(path);
	while (d && n < sizeof(tids) / sizeof(tids[0]) && (entry = readdir(d)))
		if (entry->d_name[0] != '.')
			tids[n++] = (pid_t)atoi(entry->d_name);
	if (d)
		closedir(d);
	for (uint32_t i = 0; i < s->config.n_events && !err; i++)
		if (is_of_threads(&s->probes[i]))
			err = reattach_probe(&s->probes[i], exec, tids, n);
	return err;
}

static int bpf_start(struct sampler *s, pid_t pid, struct error *why)
{
	bool follows = false, removable = false;
	int err;

	for (uint32_t i = 0; i < s->config.n_events; i++)
		removable |= is_of_threads(&s->probes[i]);
	/* The rings must be read in time even if the recorded threads keep all CPUs busy. If this
	 * is not permitted, continue without it. */
	setpriority(PRIO_PROCESS, 0, -10);
	s->pid = pid;
	err = event_queue_begin(s->delivery, pid, s->config.target, removable ? bpf_reattach : NULL,
				s);
	if (err)
		return error_set(why, err, "out of memory");
	for (uint32_t i = 0; i < s->config.n_events && !err; i++) {
		struct probe *p = &s->probes[i];

		if (is_of_threads(p)) {
			err = s->config.target ? start_running(s, p, why)
					       : start_command(s, p, why);
			continue;
		}
		if (!follows || p->kind == PERF_EVENT_WAITS)
			err = follow_process(s, p, why);
		follows = true;
		if (!err)
			err = p->kind == PERF_EVENT_TRACEPOINT ? start_tracepoint(p, why)
							       : start_waits(s, p, why);
	}
	return err;
}

/* ---- delivery ------------------------------------------------------------------- */

static int report_lost(struct sampler *s, const struct probe *p, struct stream *sink,
		       uint32_t reason, uint64_t count)
{
	return count ? stream_lost_of(sink, event_queue_now(), reason, count,
				      (uint32_t)(p - s->probes))
		     : 0;
}

/* Reports what the program has counted since the last time. Each throttling of an event costs at
 * least one sample. */
static int report_counts(struct sampler *s, struct probe *p, struct stream *sink,
			 const struct sampler_counts *now)
{
	const struct sampler_counts told = p->told;
	int err;

	p->told = *now;
	err = report_lost(s, p, sink, PCCE_LOSS_RING, now->dropped - told.dropped);
	if (!err)
		err = report_lost(s, p, sink, PCCE_LOSS_THROTTLE, now->throttled - told.throttled);
	if (!err)
		err = report_lost(s, p, sink, PCCE_LOSS_LATE, now->late - told.late);
	return err ? err : report_lost(s, p, sink, PCCE_LOSS_CROWD, now->crowded - told.crowded);
}

struct event_counts {
	uint64_t count, running; /* running: ns */
};

/* Returns the sums over all threads. */
static struct event_counts read_events(const struct probe *p)
{
	struct event_counts sum = {0}, one;

	for (size_t i = 0; i < p->n_fds; i++) {
		if (read(p->fds[i], &one, sizeof(one)) != sizeof(one))
			continue;
		sum.count += one.count;
		sum.running += one.running;
	}
	return sum;
}

/* Whether the event is a clock whose samples are known to be due. One that leaves out the kernel or
 * user code runs all the time. */
static bool is_whole_clock(const struct probe *p)
{
	return p->kind == PERF_EVENT_CLOCK && !p->attr.exclude_kernel && !p->attr.exclude_user;
}

/*
 * Computes the samples that throttling cost. This is possible for clocks: the events' time on CPUs
 * gives the expected number of samples. (Without throttling some are missing too, for example if a
 * virtual machine lost its CPU, or another BPF program ran. account_probe() tells.) A kernel before
 * 6.2 does not tell the program about throttling. It throttles a clock only if the clock exceeds
 * the limit.
 */
static int report_clock_deficit(struct sampler *s, struct probe *p, struct stream *sink)
{
	uint64_t period = clock_period(p), due, known;

	if (!is_whole_clock(p))
		return 0;
	if (!p->told.throttled) {
		unsigned int limit = p->skel->rodata->event_known ? 0 : perf_event_rate_limit();

		if (!limit || limit >= 1000000000 / period)
			return 0;
	}
	due = read_events(p).running / period;
	known = p->taken + p->told.dropped + p->told.late + p->told.throttled;
	return due > known ? report_lost(s, p, sink, PCCE_LOSS_THROTTLE, due - known) : 0;
}

/*
 * Reports the events of a tracepoint at which the kernel did not run the program. The kernel counts
 * them for the whole system, not by process. So they count as lost, unless all events up to the
 * next turn with events were of processes that are not followed.
 */
static int report_missed(struct sampler *s, struct probe *p, struct stream *sink, bool last)
{
	uint64_t missed = bpf_program_missed(p->skel), others = p->told.others,
		 followed = p->taken + p->told.dropped, fresh;

	if (followed != p->tracepoint.followed || others != p->tracepoint.others)
		p->tracepoint.foreign = followed == p->tracepoint.followed;
	else if (!last)
		return 0;
	fresh = missed - p->tracepoint.missed;
	p->tracepoint.missed = missed;
	p->tracepoint.followed = followed;
	p->tracepoint.others = others;
	return p->tracepoint.foreign ? 0 : report_lost(s, p, sink, PCCE_LOSS_NESTED, fresh);
}

static int report_losses_of(struct sampler *s, struct probe *p, struct stream *sink, bool last)
{
	const struct sampler_counts now = bpf_ring_counts(s->rings, (uint32_t)(p - s->probes));
	int err = report_counts(s, p, sink, &now);

	if (!err && p->kind == PERF_EVENT_TRACEPOINT)
		err = report_missed(s, p, sink, last);
	return err || !last ? err : report_clock_deficit(s, p, sink);
}

static int bpf_turn(struct sampler *s, struct stream *sink, bool last)
{
	uint64_t limit = event_queue_now() - EVENT_QUEUE_MARGIN;
	int err = bpf_ring_read(s->rings, add_bpf_sample, s);

	if (!err)
		err = event_queue_listen(s->delivery, NULL, NULL);
	if (!err)
		err = event_queue_flush(s->delivery, sink, last ? UINT64_MAX : limit);
	for (uint32_t i = 0; i < s->config.n_events && !err; i++)
		err = report_losses_of(s, &s->probes[i], sink, last);
	return err;
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
	int err = 0, end;

	for (uint32_t i = 0; i < s->config.n_events; i++)
		for (size_t k = 0; k < s->probes[i].n_fds; k++)
			ioctl(s->probes[i].fds[k], PERF_EVENT_IOC_DISABLE, 0);
	for (uint32_t i = 0; i < s->config.n_events; i++)
		if (s->probes[i].kind == PERF_EVENT_WAITS && !err)
			err = bpf_program_end_waits(s->probes[i].skel);
	end = bpf_turn(s, sink, true);
	return err ? err : end;
}

/*
 * The kernel counts the events whatever else runs on the CPU. It does not count for which of them
 * it ran no program, except for tracepoints (report_missed()). With a frequency, it changes the
 * period of all events but clocks, so that the number of samples is not known.
 */
static void account_probe(const struct probe *p, struct sampler_due *due)
{
	switch (p->kind) {
	case PERF_EVENT_CLOCK:
		due->known = due->with_rests = is_whole_clock(p);
		due->due = due->known ? read_events(p).running / clock_period(p) : 0;
		break;
	case PERF_EVENT_COUNT:
		due->known = due->with_rests = !p->attr.freq;
		due->due = p->attr.freq ? 0 : read_events(p).count / p->attr.sample_period;
		break;
	case PERF_EVENT_TRACEPOINT:
		due->known = bpf_counts_missed();
		break;
	case PERF_EVENT_WAITS: /* a sample has the ticks of a wait, and so has a loss of one */
		due->known = true;
		due->due = p->told.ticks + p->told.crowded;
		due->merged = p->told.ticks - p->told.dropped - p->taken;
		break;
	case PERF_EVENT_ALLOCATION: /* perf_event_make_attr() refuses it */
		break;
	}
}

static void bpf_account(struct sampler *s, struct sampler_due *due)
{
	for (uint32_t i = 0; i < s->config.n_events; i++)
		account_probe(&s->probes[i], &due[i]);
}

static void bpf_shorten(struct sampler *s, uint32_t words)
{
	first_program(s)->data->stack_bytes = words * 8;
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
