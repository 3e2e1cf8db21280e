/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the bpf sampler: opens perf events that run bpf/sampler.bpf.c, and delivers its
 * samples.
 *
 * Events (bpf_probe.c). Each thread that exists at the start gets one perf event for any CPU. A
 * command gets one event, which its exec enables. Threads and processes inherit the events of their
 * creators. The BPF program replaces the output of events, so they need no buffers, and each costs
 * one descriptor.
 *
 * Tracepoints are different: a BPF program on a tracepoint runs for the whole system. It is
 * attached once and looks up the process in a map.
 *
 * The whole system. There is one event for each CPU, whatever thread runs there. The side band
 * knows all processes then, and /proc those that run at the start.
 *
 * Several events. Each event of the recording has its own BPF program, since a program's constants
 * say what kind of event it serves, and its number. An inherited event cannot have a value by which
 * one program could tell. The programs share their maps, so there is one ring for each CPU, and
 * samples of all events are in order.
 *
 * Order. See event_queue.h.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/tracee.h"
#include "bpf/sampler.h"
#include "probe/memory.h"
#include "sampler/bpf_load.h"
#include "sampler/bpf_probe.h"
#include "sampler/perf_event.h"
#include "sampler/bpf_ring.h"
#include "sampler/bpf_waits.h"
#include "sampler/sampler.h"
#include "sampler/event_queue.h"

#define TURN 10			 /* ms between two reads of the buffers */
#define BUSY_TURN 2		 /* the same if they fill quickly */
#define NOTE_EVERY 1000000000ull /* ns between two looks at threads that wait for locks */

struct sampler {
	struct sampler_config config;
	struct bpf_probe probes[SAMPLER_EVENTS]; /* as config.events */
	struct bpf_ring *rings;
	struct event_queue *delivery;
	struct bpf_births births;
	pid_t command; /* its process, for births; 0: there is none */
	bool stops;    /* the command stops at its exec */
};

/* All programs share the maps of the first. */
static struct sampler_bpf *first_program(const struct sampler *s)
{
	return s->probes[0].skel;
}

/* Returns the ns between two samples of a clock. */
static uint64_t clock_period(const struct bpf_probe *p)
{
	return p->attr.freq ? 1000000000 / p->attr.sample_freq : p->attr.sample_period;
}

/* Whether each thread, or each CPU, has its own event of perf. */
static bool is_of_threads(const struct bpf_probe *p)
{
	return p->kind != PERF_EVENT_TRACEPOINT && p->kind != PERF_EVENT_PROBE &&
	       !perf_event_kind_waits(p->kind);
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

static int check_privilege(const struct sampler_config *config, struct error *why)
{
	enum { SYS_PTRACE = 19, SYS_ADMIN = 21, PERFMON = 38, BPF = 39 };

	if (!has_capability(SYS_ADMIN) && !(has_capability(PERFMON) && has_capability(BPF)))
		return error_set(why, -EPERM, "it needs %s, or root",
				 has_capability(PERFMON) ? "the capability CAP_BPF"
				 : has_capability(BPF)
					 ? "the capability CAP_PERFMON"
					 : "the capabilities CAP_BPF and CAP_PERFMON");
	if (config->system && !has_capability(SYS_PTRACE))
		return error_set(why, -EPERM,
				 "it needs the capability CAP_SYS_PTRACE to read which files other "
				 "processes have mapped, or root");
	return 0;
}

/* Refuses limits that only events of CPUs can have. */
static int check_limits(const struct sampler_config *config, const struct bpf_probe *p,
			struct error *why)
{
	const struct sampler_system *system = config->system;

	if (system && system->cpus && !is_of_threads(p))
		return error_set(why, -EOPNOTSUPP,
				 "it cannot limit the event %s to CPUs; leave out -C",
				 p->event->name);
	if (system && system->cgroup && perf_event_kind_waits(p->kind))
		return error_set(why, -EOPNOTSUPP,
				 "it cannot limit waits to a cgroup; leave out -G");
	if (p->moves && (system || config->n_targets > 1))
		return error_set(why, -EOPNOTSUPP,
				 "it can watch a variable only in one command or process; give the "
				 "address in place of %s",
				 p->event->name);
	if (p->moves && config->engine)
		return error_set(why, -EOPNOTSUPP,
				 "it cannot watch a variable with --count; leave out %s",
				 p->event->name);
	return 0;
}

/* ---- start ---------------------------------------------------------------------- */

static void bpf_destroy(struct sampler *s)
{
	if (!s)
		return;
	bpf_ring_close(s->rings);
	for (uint32_t i = 0; i < s->config.n_events; i++)
		bpf_probe_close(&s->probes[i]);
	free(s->births.of);
	event_queue_close(s->delivery);
	free(s);
}

static int add_bpf_sample(void *ctx, const struct pcce_sample *sample, size_t size,
			  const uint64_t *kernel)
{
	struct sampler *s = ctx;

	struct bpf_probe *p = &s->probes[sample->event % SAMPLER_EVENTS];

	if (!sample->pid) /* its process is not in the recorder's pid namespace, nor below it */
		return 0;
	if (event_queue_add(s->delivery, sample, size, kernel))
		return -ENOMEM;
	p->taken += !(sample->flags & PCCE_SAMPLE_CARRIER);
	return 0;
}

/* Whether the event after that of waits for futexes is of those who end them. */
static bool has_holders(const struct sampler *s, const struct bpf_probe *p)
{
	uint32_t next = (uint32_t)(p - s->probes) + 1;

	return next < s->config.n_events && !strcmp(s->config.events[next].name, PERF_EVENT_HOLDER);
}

/* Refuses the event of holders if that of waits is not before it: that one's programs take its
 * samples. */
static int check_order(const struct sampler *s, uint32_t i, struct error *why)
{
	const struct bpf_probe *p = &s->probes[i];

	if (p->kind != PERF_EVENT_HOLDERS || (i && s->probes[i - 1].kind == PERF_EVENT_LOCKS))
		return 0;
	return error_set(why, -EINVAL, "the event %s is a part of the event lock; use -e lock",
			 p->event->name);
}

static int load_probe(struct sampler *s, struct bpf_probe *p, struct error *why)
{
	struct bpf_program_config config = {
		.kind = p->kind,
		.attr = &p->attr,
		.copy = s->config.copy,
		.number = (uint32_t)(p - s->probes),
		.wait_period = perf_event_kind_waits(p->kind) ? clock_period(p) : 0,
		.running = sampler_is_running(&s->config),
		.system = s->config.system,
		.holders = p->kind == PERF_EVENT_LOCKS && has_holders(s, p),
		.first = p == s->probes ? NULL : first_program(s),
	};

	for (uint32_t i = 0; i < s->config.n_events; i++)
		config.guarded |= perf_event_kind_waits(s->probes[i].kind) ||
				  s->probes[i].kind == PERF_EVENT_PROBE;
	return bpf_program_load(&config, &p->skel, why);
}

/* Loads the program of an event, and tries it with one that does not count yet. */
static int prepare_probe(struct sampler *s, struct bpf_probe *p, struct error *why)
{
	int event, err;

	if (p->kind == PERF_EVENT_HOLDERS)
		return 0;
	event = perf_event_create(&p->attr, 0, -1);
	if (event < 0)
		return perf_event_explain(p->event, -errno, why);
	err = load_probe(s, p, why);
	if (!err && !perf_event_kind_waits(p->kind)) {
		err = bpf_program_attach(p->skel, p->kind, event);
		if (err)
			error_set(why, 0, "cannot run a BPF program on the event %s: %s",
				  p->event->name, strerror(-err));
	}
	close(event);
	/* Of a tracepoint, the program has run until now. */
	if (!err)
		p->tracepoint.missed = bpf_program_missed(p->skel, p->kind);
	return err;
}

static int prepare_probes(struct sampler *s, struct error *why)
{
	int err = 0;

	for (uint32_t i = 0; i < s->config.n_events && !err; i++) {
		struct bpf_probe *p = &s->probes[i];

		p->event = &s->config.events[i];
		err = perf_event_make_attr(p->event, &p->attr, &p->kind, why);
		if (!err && p->kind == PERF_EVENT_PROBE)
			err = perf_event_find_probe(&s->config, p->event->name, &p->probe, why);
		if (!err && p->kind == PERF_EVENT_PROBE)
			probe_event_set(&p->probe, 0, &p->attr);
		if (!err && p->attr.type == PERF_TYPE_BREAKPOINT)
			err = perf_event_find_memory(&s->config, p->event->name, &p->attr,
						     &p->moves, why);
		if (!err)
			err = check_limits(&s->config, p, why);
		if (!err)
			err = check_order(s, i, why);
	}
	if (!err)
		err = check_privilege(&s->config, why);
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
	    s->config.n_targets != config->n_targets || s->config.system != config->system ||
	    s->config.copy != config->copy)
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

/* Begins to follow the processes and their children in the map of processes. */
static int follow_process(struct sampler *s, struct bpf_probe *p, struct error *why)
{
	int err;

	if (sampler_bpf__attach(p->skel))
		return error_set(why, -errno,
				 "cannot attach the BPF programs for fork and exec: %s",
				 strerror(errno));
	if (s->births.n_pids > 1 && p->skel->rodata->pidns_ino)
		return error_set(
			why, -EOPNOTSUPP,
			"in a pid namespace, it can follow only one process with the event "
			"%s; name one with -p",
			p->event->name);
	err = 0;
	for (size_t i = 0; i < s->births.n_pids && !err; i++)
		err = bpf_program_follow(first_program(s), s->births.pids[i], s->config.n_targets);
	return err ? perf_event_explain(p->event, err, why) : 0;
}

static int add_carrier(void *ctx, const struct pcce_sample *sample, size_t size)
{
	struct sampler *s = ctx;

	return event_queue_add(s->delivery, sample, size, NULL);
}

/* Notes where threads wait. */
static int note_waits(struct sampler *s, struct bpf_probe *p)
{
	uint64_t now = event_queue_now();
	int err = bpf_program_begin_waits(p->skel);

	p->noted = now;
	return err ? err
		   : bpf_waits_carry(bpf_map__fd(p->skel->maps.waiting), now, event_queue_now(),
				     add_carrier, s);
}

static int start_waits(struct sampler *s, struct bpf_probe *p, struct error *why)
{
	int err = sampler_is_running(&s->config) ? note_waits(s, p) : 0;

	return err ? error_set(why, err, "cannot read where the threads wait: %s", strerror(-err))
		   : 0;
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
			err = bpf_probe_again(&s->probes[i], exec, tids, n);
	return err;
}

/* Moves the address of a breakpoint as the kernel has moved the program. */
static int move_breakpoint(struct sampler *s, struct bpf_probe *p, struct error *why)
{
	char buffer[PERF_EVENT_PROGRAM];
	uint64_t bias = 0;
	int err =
		memory_event_bias(s->births.pids[0], perf_event_program(&s->config, buffer), &bias);

	p->attr.bp_addr += bias;
	return err ? error_set(why, err, "cannot find where the variable of %s is: %s",
			       p->event->name, strerror(-err))
		   : 0;
}

/* Opens the events of perf. */
static int start_events(struct sampler *s, struct bpf_probe *p, struct error *why)
{
	int err = p->moves && s->config.n_targets ? move_breakpoint(s, p, why) : 0;

	if (err)
		return err;
	if (!is_of_threads(p))
		err = bpf_probe_everywhere(p);
	else if (s->config.system)
		err = bpf_probe_cpus(p, s->config.system);
	else if (s->config.n_targets)
		err = bpf_probe_running(p, &s->births, s->delivery);
	else if (p->moves) /* see bpf_released() */
		err = s->stops ? 0 : tracee_attach(s->command);
	else
		err = bpf_probe_command(p, s->births.pids[0]);
	s->stops |= p->moves;
	if (err == -ESRCH && s->config.n_targets)
		return error_set(why, err, "process %d has ended", (int)s->births.pids[0]);
	return err ? perf_event_explain(p->event, err, why) : 0;
}

static int bpf_start(struct sampler *s, pid_t pid, struct error *why)
{
	bool follows = false, removable = false;
	int err;

	for (uint32_t i = 0; i < s->config.n_events; i++)
		removable |= is_of_threads(&s->probes[i]) && !s->config.system;
	/* The rings must be read in time even if the recorded threads keep all CPUs busy. If this
	 * is not permitted, continue without it. */
	setpriority(PRIO_PROCESS, 0, -10);
	s->command = pid;
	if (s->config.n_targets)
		s->births = (struct bpf_births){s->config.targets, s->config.n_targets, NULL, 0};
	else if (!s->config.system)
		s->births = (struct bpf_births){&s->command, 1, NULL, 0};
	err = event_queue_begin(s->delivery, s->births.pids, s->births.n_pids, s->config.n_targets,
				removable ? bpf_reattach : NULL, s);
	if (err)
		return error_set(why, err, "out of memory");
	for (uint32_t i = 0; i < s->config.n_events && !err; i++) {
		struct bpf_probe *p = &s->probes[i];
		bool waits = perf_event_kind_waits(p->kind);
		bool attach = !is_of_threads(p) && (!follows || waits);

		if (p->kind == PERF_EVENT_HOLDERS)
			continue;
		if (attach)
			err = follow_process(s, p, why);
		follows |= attach;
		if (!err && waits)
			err = start_waits(s, p, why);
		else if (!err)
			err = start_events(s, p, why);
	}
	return err;
}

/* Sets breakpoints in a program that the kernel has just moved: it stops before its first
 * instruction. */
static int bpf_released(struct sampler *s, struct error *why)
{
	int err;

	if (!s->stops || !s->command)
		return 0;
	err = tracee_wait(s->command, SIGTRAP, PTRACE_EVENT_EXEC);
	if (err)
		error_set(why, err, "the command did not stop at its start: %s", strerror(-err));
	for (uint32_t i = 0; i < s->config.n_events && !err; i++) {
		struct bpf_probe *p = &s->probes[i];

		if (!p->moves)
			continue;
		err = move_breakpoint(s, p, why);
		if (!err) {
			err = bpf_probe_executed(p, s->command);
			perf_event_explain(p->event, err, err ? why : NULL);
		}
	}
	ptrace(PTRACE_DETACH, s->command, 0, 0);
	return err;
}

/* ---- delivery ------------------------------------------------------------------- */

static int report_lost(struct sampler *s, const struct bpf_probe *p, struct stream *sink,
		       uint32_t reason, uint64_t count)
{
	return count ? stream_lost_of(sink, event_queue_now(), reason, count,
				      (uint32_t)(p - s->probes))
		     : 0;
}

/* Reports what the program has counted since the last time. Each throttling of an event costs at
 * least one sample. */
static int report_counts(struct sampler *s, struct bpf_probe *p, struct stream *sink,
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
	if (!err)
		err = report_lost(s, p, sink, PCCE_LOSS_NESTED, now->nested - told.nested);
	return err ? err : report_lost(s, p, sink, PCCE_LOSS_CROWD, now->crowded - told.crowded);
}

struct event_counts {
	uint64_t count, running; /* running: ns */
};

/* Returns the sums over all threads. */
static struct event_counts read_events(const struct bpf_probe *p)
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
static bool is_whole_clock(const struct bpf_probe *p)
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
static int report_clock_deficit(struct sampler *s, struct bpf_probe *p, struct stream *sink)
{
	uint64_t period = clock_period(p), due, known;

	if (!is_whole_clock(p) || s->config.system)
		return 0;
	if (!p->told.throttled) {
		unsigned int limit = p->skel->rodata->event_known ? 0 : perf_event_rate_limit();

		if (!limit || limit >= 1000000000 / period)
			return 0;
	}
	due = read_events(p).running / period;
	known = p->taken + p->told.dropped + p->told.nested + p->told.late + p->told.throttled;
	return due > known ? report_lost(s, p, sink, PCCE_LOSS_THROTTLE, due - known) : 0;
}

/*
 * Reports the events of a tracepoint at which the kernel did not run the program. The kernel counts
 * them for the whole system, not by process. So they count as lost, unless all events up to the
 * next turn with events were of processes that are not followed.
 */
static int report_missed(struct sampler *s, struct bpf_probe *p, struct stream *sink, bool last)
{
	uint64_t missed = bpf_program_missed(p->skel, p->kind), others = p->told.others,
		 followed = p->taken + p->told.dropped + p->told.nested, fresh;

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

static int report_losses_of(struct sampler *s, struct bpf_probe *p, struct stream *sink, bool last)
{
	const struct sampler_counts now = bpf_ring_counts(s->rings, (uint32_t)(p - s->probes));
	int err = report_counts(s, p, sink, &now);

	if (!err && (p->kind == PERF_EVENT_TRACEPOINT || p->kind == PERF_EVENT_PROBE))
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

/* Notes where threads wait for locks, if the last time is that many ns ago. */
static int note_locks(struct sampler *s, uint64_t age)
{
	uint64_t now = event_queue_now();
	int err = 0;

	for (uint32_t i = 0; i < s->config.n_events && !err; i++)
		if (s->probes[i].kind == PERF_EVENT_LOCKS && now - s->probes[i].noted >= age)
			err = note_waits(s, &s->probes[i]);
	return err;
}

static int bpf_poll(struct sampler *s, struct stream *sink, int timeout_ms)
{
	int usual_ms = s->config.turn_ms ? s->config.turn_ms : TURN,
	    turn_ms = bpf_ring_busy(s->rings) ? BUSY_TURN : usual_ms;
	int err;

	/* Samples do not wake us. They wait in the rings for the next turn. */
	err = event_queue_wait(s->delivery, timeout_ms < turn_ms ? timeout_ms : turn_ms);
	if (!err)
		err = note_locks(s, NOTE_EVERY);
	return err ? err : bpf_turn(s, sink, false);
}

static int bpf_stop(struct sampler *s, struct stream *sink)
{
	int err = note_locks(s, 0), end;

	for (uint32_t i = 0; i < s->config.n_events; i++)
		bpf_probe_disable(&s->probes[i]);
	for (uint32_t i = 0; i < s->config.n_events; i++)
		if (perf_event_kind_waits(s->probes[i].kind) && s->probes[i].skel && !err)
			err = bpf_program_end_waits(s->probes[i].skel);
	end = bpf_turn(s, sink, true);
	return err ? err : end;
}

/*
 * The kernel counts the events whatever else runs on the CPU. It does not count for which of them
 * it ran no program, except for tracepoints (report_missed()). With a frequency, it changes the
 * period of all events but clocks, so that the number of samples is not known. In a recording of
 * the whole system, the clock of a CPU also counts while the CPU is idle, and nobody knows how long
 * that was: some kernels do not run the program then.
 */
static void account_probe(const struct bpf_probe *p, bool system, struct sampler_due *due)
{
	switch (p->kind) {
	case PERF_EVENT_CLOCK:
		due->known = due->with_rests = is_whole_clock(p) && !system;
		due->due = due->known ? read_events(p).running / clock_period(p) : 0;
		break;
	case PERF_EVENT_COUNT:
		due->known = due->with_rests = !p->attr.freq && !system;
		due->due = due->known ? read_events(p).count / p->attr.sample_period : 0;
		break;
	case PERF_EVENT_TRACEPOINT:
		due->known = bpf_counts_missed();
		break;
	case PERF_EVENT_PROBE: /* the kernel does not say which returns it has missed */
		due->known = !probe_event_is_of_returns(p->event->name) &&
			     (!probe_event_is_kernel(p->event->name) || bpf_counts_missed());
		break;
	case PERF_EVENT_LOCKS:
	case PERF_EVENT_HOLDERS:
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
		account_probe(&s->probes[i], s->config.system, &due[i]);
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
	.sees_tracers = true,
	.probe = bpf_probe,
	.prepare = bpf_prepare,
	.start = bpf_start,
	.released = bpf_released,
	.poll = bpf_poll,
	.stop = bpf_stop,
	.account = bpf_account,
	.shorten = bpf_shorten,
	.copied = bpf_copied,
	.destroy = bpf_destroy,
};
