/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sampler in the kernel module: pcce_sampler takes the samples, and its rings deliver them.
 *
 * The module follows a process's threads and children by itself; what processes do otherwise
 * (mappings, names, exec) comes from the kernel's side band, as for bpf.  See event_queue.h.
 *
 * Aggregated recordings.  The kernel counts equal samples, and the counters are taken every
 * COUNTS_NS, or earlier when they take up much room.  Such a record says when the first and the
 * last of its samples were taken.  If the process mapped something over one of its addresses in
 * between, nobody can tell to what that address belonged: it is marked as not readable.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/ioctl.h>

#include "sampler/perf_event.h"
#include "sampler/kmod_session.h"
#include "sampler/remap_log.h"
#include "sampler/sampler.h"
#include "sampler/event_queue.h"

#define TURN 10		       /* ms: how long samples wait in the rings, at most */
#define COUNTS_NS 1000000000   /* between two times that counters are taken */
#define LOOK_NS 10000000       /* after the beginning, threads are looked for again, */
#define LOOKS_NS 2000000000    /* and ever less often, up to that */
#define ALL_MAX (256ull << 20) /* of all CPUs' rings together, roughly */
#define RING_BYTES (2u << 20)

struct sampler {
	struct sampler_config config;
	struct pcce_kmod_setup setup;
	struct kmod_session *session;
	struct event_queue *delivery;
	int64_t offsets[PCCE_KMOD_OFFSETS],
		told[PCCE_KMOD_OFFSETS]; /* where pages may be; what the kernel knows of it */
	uint32_t n_offsets, n_told;
	uint64_t drops, throttled;
	uint64_t look_at, look_after; /* when threads are looked for again, 0: never; and how long
					 after that */
	/* Aggregated recordings. */
	struct remap_log *remaps;
	uint64_t since; /* nothing that comes later is older */
	uint64_t next;	/* when counters are taken again */
};

/* ---- can it work ---------------------------------------------------------------- */

static int set_up(const struct sampler_config *config, struct pcce_kmod_setup *setup,
		  struct error *why)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	enum perf_event_kind kind;
	int err;

	if (config->verify)
		return error_set(why, -EOPNOTSUPP,
				 "it cannot look at the real stack, which --verify needs");
	err = perf_event_parse(config->event, &attr, &kind, why);
	if (err)
		return err;
	*setup = (struct pcce_kmod_setup){
		.scope = PCCE_KMOD_PROCESS, .cpu = -1, .type = attr.type, .config = attr.config};
	/* Of a tracepoint each event is a sample, unless a number is asked for. */
	if (config->frequency && kind != PERF_EVENT_TRACEPOINT) {
		setup->flags |= PCCE_KMOD_FREQUENCY;
		setup->rate = config->frequency;
	} else {
		setup->rate = config->period ? config->period : 1;
	}
	if (config->aggregate)
		setup->flags |= PCCE_KMOD_AGGREGATE;
	if (kind == PERF_EVENT_COUNT)
		setup->flags |= PCCE_KMOD_WEIGHT_PERIOD;
	return 0;
}

static int explain(const struct sampler *s, int err, struct error *why)
{
	const struct pcce_kmod_info *info = kmod_session_info(s->session);

	switch (-err) {
	case EINVAL:
		if (s->setup.flags & PCCE_KMOD_FREQUENCY && s->setup.rate > info->max_frequency) {
			error_set(
				why, 0,
				"%llu samples a second are more than the module allows, %llu; use "
				"a lower -F, or raise "
				"/sys/module/pcce_sampler/parameters/max_frequency",
				(unsigned long long)s->setup.rate,
				(unsigned long long)info->max_frequency);
			break;
		}
		/* fallthrough */
	default:
		error_set(why, 0, "the module refuses the event %s: %s", s->config.event,
			  strerror(-err));
		break;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		error_set(why, 0, "this machine does not have the event %s", s->config.event);
		break;
	case EPERM:
		error_set(why, 0, "it needs the capability CAP_PERFMON, or root");
		break;
	case ESRCH:
		error_set(why, 0, "process %d has ended", (int)s->setup.pid);
		break;
	case ENOMEM:
		error_set(why, 0,
			  "there is no memory for the rings, or they are more than this user may "
			  "lock (ulimit -l)");
		break;
	}
	return err;
}

/* Rings as large as they may be. */
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
	err = set_up(config, &s.setup, why);
	if (!err && !kmod_session_info(s.session)->privileged)
		err = explain(&s, -EPERM, why);
	if (!err) {
		/* The event on this thread itself: it ends with the session. */
		s.setup.scope = PCCE_KMOD_TASK;
		s.setup.ring_bytes = PCCE_KMOD_RING_MIN;
		err = kmod_session_setup(s.session, &s.setup);
		if (!err)
			err = kmod_session_start(s.session);
		if (err)
			explain(&s, err, why);
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
	event_queue_close(s->delivery);
	remap_log_free(s->remaps);
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
	err = set_up(config, &s->setup, why);
	if (!err)
		err = kmod_session_open(&s->session, why);
	if (!err)
		err = event_queue_open(s->offsets, &s->n_offsets, PCCE_KMOD_OFFSETS,
				       config->program, &s->delivery, why);
	if (!err) {
		s->remaps = remap_log_new();
		if (!s->remaps) {
			error_set(why, 0, "out of memory");
			err = -ENOMEM;
		}
	}
	if (err) {
		kmod_destroy(s);
		return err;
	}
	*out = s;
	return 0;
}

/* Tells the module of new places. */
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

/* After an exec of a set-uid program. */
static int reattach(void *ctx, const struct perf_sideband_event *exec)
{
	struct sampler *s = ctx;
	int err = kmod_session_attach(s->session, exec->pid, PCCE_KMOD_ATTACH_AGAIN);

	if (err && err != -ESRCH) /* it has ended already */
		fprintf(stderr, "%s: %s cannot be sampled any more: %s\n",
			program_invocation_short_name, exec->name, strerror(-err));
	return 0;
}

static int kmod_sampler_start(struct sampler *s, pid_t pid, struct error *why)
{
	int err;

	/* The rings must be read in time even if everything that is recorded keeps the CPUs busy.
	 * Without the right to do that, it has to work as it is. */
	setpriority(PRIO_PROCESS, 0, -10);
	s->setup.pid = pid;
	if (!s->config.target)
		s->setup.flags |= PCCE_KMOD_ON_EXEC;
	err = event_queue_begin(s->delivery, pid, s->config.target, reattach, s);
	if (!err)
		err = set_up_session(s);
	if (!err)
		err = tell_places(s);
	if (!err)
		err = event_queue_watch(s->delivery, kmod_session_fd(s->session));
	if (!err)
		err = kmod_session_start(s->session);
	s->look_after = LOOK_NS;
	s->look_at = s->config.target ? event_queue_now() + LOOK_NS : 0;
	return err ? explain(s, err, why) : 0;
}

/* ---- delivery ------------------------------------------------------------------- */

static int on_record(void *ctx, const struct pcce_kmod_record *record,
		     const struct pcce_sample *sample, size_t size)
{
	struct sampler *s = ctx;
	struct pcce_sample *copy = event_queue_add(s->delivery, sample, size);

	if (!copy)
		return -ENOMEM;
	if (remap_log_concern(s->remaps, sample, record->last))
		copy->flags |= PCCE_SAMPLE_MIXED;
	return 0;
}

static int count_losses(struct sampler *s, const struct sampler_sink *sink)
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
		err = sink->lost(sink->ctx, event_queue_now(), PCCE_LOSS_RING, fresh);
	fresh = stats.throttled - s->throttled;
	s->throttled = stats.throttled;
	if (fresh && !err)
		err = sink->lost(sink->ctx, event_queue_now(), PCCE_LOSS_THROTTLE, fresh);
	return err;
}

static int on_sideband(void *ctx, const struct perf_sideband_event *e)
{
	struct sampler *s = ctx;

	return remap_log_note(s->remaps, e);
}

/* Counters that are taken later may be as old as since; so all else has to wait for them. */
static int take_counts(struct sampler *s, bool now)
{
	struct pollfd p = {.fd = kmod_session_fd(s->session), .events = POLLIN};
	bool due = now || event_queue_now() >= s->next || poll(&p, 1, 0) == 1;
	int err = due ? kmod_session_rotate(s->session, &s->since) : 0;

	/* What was mapped before they were taken has to be known now. */
	if (!err)
		err = event_queue_listen(s->delivery, on_sideband, s);
	if (err || !due)
		return err;
	s->next = event_queue_now() + COUNTS_NS;
	err = kmod_session_read_counts(s->session, on_record, s);
	remap_log_forget(s->remaps, s->since);
	return err;
}

/* Threads that were just being created when the sampling began; pcce/kmod.h says how they can be
 * missed. */
static int look_again(struct sampler *s)
{
	int err;

	if (!s->look_at || event_queue_now() < s->look_at)
		return 0;
	err = kmod_session_attach(s->session, s->setup.pid, 0);
	s->look_after *= 4;
	s->look_at = !err && s->look_after <= LOOKS_NS ? s->look_at + s->look_after : 0;
	return err == -ESRCH ? 0 : err;
}

static int turn(struct sampler *s, const struct sampler_sink *sink, bool last)
{
	uint64_t limit = event_queue_now() - EVENT_QUEUE_MARGIN;
	int err = last ? 0 : look_again(s);

	if (err)
		return err;
	if (s->config.aggregate) {
		err = take_counts(s, last);
		if (limit > s->since)
			limit = s->since;
	} else {
		err = kmod_session_read(s->session, on_record, s);
		if (!err)
			err = event_queue_listen(s->delivery, NULL, NULL);
	}
	if (!err)
		err = event_queue_flush(s->delivery, sink, last ? UINT64_MAX : limit);
	if (!err)
		err = tell_places(s);
	return err ? err : count_losses(s, sink);
}

static int kmod_poll(struct sampler *s, const struct sampler_sink *sink, int timeout_ms)
{
	int err = event_queue_wait(s->delivery, timeout_ms < TURN ? timeout_ms : TURN);

	return err ? err : turn(s, sink, false);
}

static int kmod_sampler_stop(struct sampler *s, const struct sampler_sink *sink)
{
	int err = kmod_session_stop(s->session), turn_err = turn(s, sink, true);

	return err ? err : turn_err;
}

const struct sampler_ops sampler_kmod = {
	.name = "kmod",
	.probe = kmod_probe,
	.prepare = kmod_prepare,
	.start = kmod_sampler_start,
	.poll = kmod_poll,
	.stop = kmod_sampler_stop,
	.destroy = kmod_destroy,
};
