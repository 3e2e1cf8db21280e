/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the kmod sampler: controls a session of the kernel module pcce_sampler, and delivers
 * the samples from its rings.
 *
 * The module follows the threads and children of a process. Other events of processes (mappings,
 * names, exec) come from the kernel's side band, as for bpf. See event_queue.h.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/message.h"
#include "sampler/perf_event.h"
#include "sampler/kmod_session.h"
#include "sampler/sampler.h"
#include "sampler/event_queue.h"

#define TURN 10		       /* ms, most time that samples wait in the rings */
#define LOOK_NS 10000000       /* ns; first repeated search for threads after the start */
#define LOOKS_NS 2000000000    /* ns; largest time between two searches */
#define ALL_MAX (256ull << 20) /* for the rings of all CPUs, roughly */
#define RING_BYTES (2u << 20)

struct sampler {
	struct sampler_config config;
	struct pcce_kmod_setup setup;
	struct kmod_session *session;
	struct event_queue *delivery;
	int64_t offsets[PCCE_KMOD_OFFSETS],
		told[PCCE_KMOD_OFFSETS]; /* where pages can be; told: what the kernel knows */
	uint32_t n_offsets, n_told;
	uint64_t drops, throttled, late;
	int counter; /* a perf event that counts what is sampled; -1: none */
	uint64_t counter_period;
	bool counts_time;
	uint64_t look_at, look_after; /* time of the next search for threads (0: none), and time
					 from it to the one after */
};

/* ---- checks ------------------------------------------------------------------ */

static int make_setup(const struct sampler_config *config, struct pcce_kmod_setup *setup,
		      struct error *why)
{
	const struct sampler_event *event = config->events;
	struct perf_event_attr attr;
	enum perf_event_kind kind;
	int err;

	if (config->verify)
		return error_set(why, -EOPNOTSUPP,
				 "it cannot read the stack, which --verify needs; use -b self");
	err = sampler_one_event(config, why);
	if (!err)
		err = perf_event_make_attr(event, &attr, &kind, why);
	if (err)
		return err;
	if (perf_event_kind_waits(kind) || kind == PERF_EVENT_PROBE ||
	    attr.type == PERF_TYPE_BREAKPOINT || attr.config1 || attr.config2)
		return error_set(why, -EOPNOTSUPP, "it cannot sample %s; use -b bpf as root",
				 event->name);
	if (attr.exclude_user || attr.precise_ip)
		return error_set(why, -EOPNOTSUPP,
				 "of modifiers of events it knows only u, not those of %s; use -b "
				 "bpf as root",
				 event->name);
	*setup = (struct pcce_kmod_setup){
		.scope = PCCE_KMOD_PROCESS, .cpu = -1, .type = attr.type, .config = attr.config};
	/* Each event of a tracepoint is a sample, unless a period is given. */
	if (event->frequency && kind != PERF_EVENT_TRACEPOINT) {
		setup->flags |= PCCE_KMOD_FREQUENCY;
		setup->rate = event->frequency;
	} else {
		setup->rate = event->period ? event->period : 1;
	}
	if (attr.exclude_kernel)
		setup->flags |= PCCE_KMOD_EXCLUDE_KERNEL;
	if (kind == PERF_EVENT_COUNT)
		setup->flags |= PCCE_KMOD_WEIGHT_PERIOD;
	if (config->copy != SAMPLER_COPY_NONE)
		setup->flags |= PCCE_KMOD_COPY_STACKS;
	if (config->copy & SAMPLER_COPY_OUTSIDE)
		setup->flags |= PCCE_KMOD_COPY_ALL;
	return 0;
}

/* Asks for labels, and for the kernel's stacks, if the module knows them. Checks that it knows all
 * other flags of s->setup. */
static int check_module(struct sampler *s, struct error *why)
{
	const struct pcce_kmod_info *info = kmod_session_info(s->session);

	/* An older one brings no labels, and shows the innermost function of the kernel. */
	if (!(s->setup.flags & PCCE_KMOD_EXCLUDE_KERNEL))
		s->setup.flags |= PCCE_KMOD_KERNEL_STACKS & (uint32_t)info->flags;
	s->setup.flags |= PCCE_KMOD_LABELS & (uint32_t)info->flags;
	if (!(s->setup.flags & ~info->flags))
		return 0;
	return error_set(why, -EPROTONOSUPPORT,
			 "the loaded module pcce_sampler is too old%s; load the module of this "
			 "version of pcce",
			 s->config.copy ? " to copy stacks, which --frames needs" : "");
}

static int explain_session_error(const struct sampler *s, int err, struct error *why)
{
	const struct pcce_kmod_info *info = kmod_session_info(s->session);

	switch (-err) {
	case EINVAL:
		if (s->setup.flags & PCCE_KMOD_FREQUENCY && s->setup.rate > info->max_frequency) {
			error_set(why, 0,
				  "%llu samples per second exceed the module's limit of %llu; use "
				  "a lower -F, or raise "
				  "/sys/module/pcce_sampler/parameters/max_frequency",
				  (unsigned long long)s->setup.rate,
				  (unsigned long long)info->max_frequency);
			break;
		}
		/* fallthrough */
	default:
		error_set(why, 0, "cannot open the event %s in the module: %s",
			  s->config.events->name, strerror(-err));
		break;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		error_set(why, 0, "this machine does not support the event %s",
			  s->config.events->name);
		break;
	case EPERM:
		error_set(why, 0, "it needs the capability CAP_PERFMON, or root");
		break;
	case ESRCH:
		error_set(why, 0, "process %d has ended", (int)s->setup.pid);
		break;
	case ENOMEM:
		error_set(why, 0,
			  "cannot allocate the %s: out of memory, or above the limit of locked "
			  "memory; raise it with ulimit -l",
			  s->config.copy ? "rings and the tables of stacks" : "rings");
		break;
	}
	return err;
}

/* Sets up the session with the largest possible rings. */
static int set_up_session(struct sampler *s)
{
	uint32_t bytes = RING_BYTES;
	int err;

	while (bytes > PCCE_KMOD_RING_MIN &&
	       (uint64_t)bytes * kmod_session_info(s->session)->n_cpus > ALL_MAX)
		bytes /= 2;
	do {
		s->setup.ring_bytes = bytes;
		err = kmod_session_setup(s->session, &s->setup);
		bytes /= 2;
	} while (err == -ENOMEM && bytes >= PCCE_KMOD_RING_MIN);
	return err;
}

static int kmod_probe(const struct sampler_config *config, struct error *why)
{
	struct sampler s = {.config = *config};
	int err = kmod_session_open(&s.session, why);

	if (err)
		return err;
	if (config->system || config->n_targets > 1) {
		kmod_session_close(s.session);
		return error_set(why, -EOPNOTSUPP,
				 "it records one process and its children; use -b bpf as root");
	}
	err = make_setup(config, &s.setup, why);
	if (!err)
		err = check_module(&s, why);
	if (!err && !kmod_session_info(s.session)->privileged)
		err = explain_session_error(&s, -EPERM, why);
	if (!err) {
		/* The event on this thread itself: it ends with the session. */
		s.setup.scope = PCCE_KMOD_TASK;
		s.setup.ring_bytes = PCCE_KMOD_RING_MIN;
		err = kmod_session_setup(s.session, &s.setup);
		if (!err)
			err = kmod_session_start(s.session);
		if (err)
			explain_session_error(&s, err, why);
	}
	kmod_session_close(s.session);
	/* -ENODEV says that the module is not there, and nothing else. */
	return err == -ENODEV ? -ENOENT : err;
}

/* ---- start ---------------------------------------------------------------------- */

static void kmod_destroy(struct sampler *s)
{
	if (!s)
		return;
	kmod_session_close(s->session);
	if (s->counter >= 0)
		close(s->counter);
	event_queue_close(s->delivery);
	free(s);
}

static int kmod_prepare(const struct sampler_config *config, struct sampler **out,
			struct error *why)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return error_set(why, -ENOMEM, "out of memory");
	s->config = *config;
	s->counter = -1;
	err = make_setup(config, &s->setup, why);
	if (!err)
		err = kmod_session_open(&s->session, why);
	if (!err)
		err = check_module(s, why);
	if (!err)
		err = event_queue_open(s->offsets, &s->n_offsets, PCCE_KMOD_OFFSETS,
				       config->program, &s->delivery, why);
	if (err) {
		kmod_destroy(s);
		return err;
	}
	*out = s;
	return 0;
}

/* Tells the module new places of thread pages. */
static int tell_places(struct sampler *s)
{
	int err;

	if (s->n_told == s->n_offsets && !memcmp(s->told, s->offsets, sizeof(s->told)))
		return 0;
	err = kmod_session_places(s->session, s->offsets, s->n_offsets);
	if (!err) {
		s->n_told = s->n_offsets;
		memcpy(s->told, s->offsets, sizeof(s->told));
	}
	return err;
}

/* Attaches to a process again after an exec of a set-uid program. */
static int kmod_reattach(void *ctx, const struct perf_sideband_event *exec)
{
	struct sampler *s = ctx;
	int err = kmod_session_attach(s->session, exec->pid, PCCE_KMOD_ATTACH_AGAIN);

	if (err && err != -ESRCH) /* the process has ended */
		message(NULL, "cannot continue to sample %s: %s", exec->name, strerror(-err));
	return 0;
}

/*
 * Counts the command's events with an event of perf, which does not sample: it tells how many
 * samples are due, whatever becomes of the module's. Hardware has few counters, so its events are
 * not counted twice. With a frequency the period of events other than clocks changes, and of a
 * running process some threads could be missing or be counted twice. Then, and if this is not
 * permitted, nobody knows.
 */
static void open_counter(struct sampler *s)
{
	struct perf_event_attr attr;
	enum perf_event_kind kind;
	struct error why;

	if (s->config.n_targets || perf_event_make_attr(s->config.events, &attr, &kind, &why) ||
	    attr.type == PERF_TYPE_HARDWARE)
		return;
	s->counts_time = kind == PERF_EVENT_CLOCK;
	if (s->counts_time && attr.exclude_kernel) /* a clock counts all of a thread's time */
		return;
	s->counter_period = s->setup.rate;
	if (s->setup.flags & PCCE_KMOD_FREQUENCY) {
		if (!s->counts_time)
			return;
		s->counter_period = 1000000000 / s->setup.rate;
	}
	attr.freq = 0;
	attr.sample_period = 0;
	attr.enable_on_exec = 1;
	s->counter = perf_event_create(&attr, s->setup.pid, -1);
}

static int kmod_sampler_start(struct sampler *s, pid_t pid, struct error *why)
{
	int err;

	/* The rings must be read in time even if the recorded threads keep all CPUs busy. If this
	 * is not permitted, continue without it. */
	setpriority(PRIO_PROCESS, 0, -10);
	if (s->config.n_targets)
		pid = s->config.targets[0];
	else
		s->setup.flags |= PCCE_KMOD_ON_EXEC;
	s->setup.pid = pid;
	err = event_queue_begin(s->delivery, &pid, 1, s->config.n_targets, kmod_reattach, s);
	if (!err)
		err = set_up_session(s);
	if (!err)
		err = tell_places(s);
	if (!err)
		err = event_queue_watch(s->delivery, kmod_session_fd(s->session));
	if (!err)
		open_counter(s);
	if (!err)
		err = kmod_session_start(s->session);
	s->look_after = LOOK_NS;
	s->look_at = s->config.n_targets ? event_queue_now() + LOOK_NS : 0;
	return err ? explain_session_error(s, err, why) : 0;
}

/* ---- delivery ------------------------------------------------------------------- */

static int add_kmod_sample(void *ctx, const struct pcce_sample *sample, size_t size,
			   const uint64_t *kernel)
{
	struct sampler *s = ctx;

	return event_queue_add(s->delivery, sample, size, kernel);
}

static int report_losses(struct sampler *s, struct stream *sink)
{
	struct pcce_kmod_stats stats;
	uint64_t drops = 0, fresh;
	int err = kmod_session_stats(s->session, &stats), i;

	if (err)
		return err;
	for (i = 0; i < PCCE_KMOD_DROP_REASONS; i++)
		drops += stats.dropped[i];
	fresh = drops - s->drops;
	s->drops = drops;
	if (fresh)
		err = stream_lost(sink, event_queue_now(), PCCE_LOSS_RING, fresh);
	fresh = stats.throttled - s->throttled;
	s->throttled = stats.throttled;
	if (fresh && !err)
		err = stream_lost(sink, event_queue_now(), PCCE_LOSS_THROTTLE, fresh);
	fresh = stats.late - s->late;
	s->late = stats.late;
	if (fresh && !err)
		err = stream_lost(sink, event_queue_now(), PCCE_LOSS_LATE, fresh);
	return err;
}

/* Attaches to threads that were just being created when the sampling began. pcce/kmod.h says how
 * they can be missed. */
static int attach_late_threads(struct sampler *s)
{
	int err;

	if (!s->look_at || event_queue_now() < s->look_at)
		return 0;
	err = kmod_session_attach(s->session, s->setup.pid, 0);
	s->look_after *= 4;
	s->look_at = !err && s->look_after <= LOOKS_NS ? s->look_at + s->look_after : 0;
	return err == -ESRCH ? 0 : err;
}

static int kmod_turn(struct sampler *s, struct stream *sink, bool last)
{
	uint64_t limit = event_queue_now() - EVENT_QUEUE_MARGIN;
	int err = last ? 0 : attach_late_threads(s);

	if (!err)
		err = kmod_session_read(s->session, add_kmod_sample, s);
	if (!err)
		err = event_queue_listen(s->delivery, NULL, NULL);
	if (!err)
		err = event_queue_flush(s->delivery, sink, last ? UINT64_MAX : limit);
	if (!err)
		err = tell_places(s);
	return err ? err : report_losses(s, sink);
}

static int kmod_poll(struct sampler *s, struct stream *sink, int timeout_ms)
{
	int err = event_queue_wait(s->delivery, timeout_ms < TURN ? timeout_ms : TURN);

	return err ? err : kmod_turn(s, sink, false);
}

static int kmod_sampler_stop(struct sampler *s, struct stream *sink)
{
	int err = kmod_session_stop(s->session), turn_err = kmod_turn(s, sink, true);

	return err ? err : turn_err;
}

/* Events in threads that are ending, or without user space, are not due. */
static void kmod_account(struct sampler *s, struct sampler_due *due)
{
	struct pcce_kmod_stats stats;
	uint64_t value[2], all; /* the count, and the time in ns */

	if (kmod_session_stats(s->session, &stats))
		return;
	if (s->counter < 0 || read(s->counter, value, sizeof(value)) != sizeof(value))
		return;
	all = (s->counts_time ? value[1] : value[0]) / s->counter_period;
	due->known = due->with_rests = true;
	due->due = all > stats.no_user ? all - stats.no_user : 0;
}

static void kmod_shorten(struct sampler *s, uint32_t words)
{
	kmod_session_shorten(s->session, words * 8);
}

static uint64_t kmod_copied(const struct sampler *s)
{
	return kmod_session_copied(s->session);
}

const struct sampler_ops sampler_kmod = {
	.name = "kmod",
	.what = "the kernel module",
	.probe = kmod_probe,
	.prepare = kmod_prepare,
	.start = kmod_sampler_start,
	.poll = kmod_poll,
	.stop = kmod_sampler_stop,
	.account = kmod_account,
	.shorten = kmod_shorten,
	.copied = kmod_copied,
	.destroy = kmod_destroy,
};
