/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Takes samples beside the counting of calls: one recording then has two events, the calls and what
 * is sampled. This is a sampler that consists of two, sampler_count and config->beside. Each has a
 * stage of its own, which changes what comes.
 *
 * The program now also executes code that no encoding table knows: the stubs and the engine. A
 * sample there belongs to the function that is being entered. It gets an instruction pointer in
 * this function, with the same state, and PCCE_SAMPLE_COUNTING: the report shows the time as that
 * of the counting, called by the function. The same is done for entries of signals which arrived
 * there.
 *
 * Only processes that contain the engine have such samples: the command from its first exec on, and
 * forked children, until they execute a program.
 *
 * If calls are counted in bursts, samples between two bursts have PCCE_SAMPLE_BETWEEN. So what
 * calls cost comes from samples of the time in which they are counted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/array.h"
#include "count/count.h"
#include "sampler/sampler.h"

#define PIDS (1 << 22) /* as the kernel has at most */

struct sampler {
	const struct sampler_ops *ops; /* of other */
	struct sampler *counter, *other;
	pid_t pid;		   /* of the command */
	bool begun;		   /* its first exec was seen */
	uint8_t counted[PIDS / 8]; /* a bit for each process that contains the engine */
	void *copy;		   /* of a sample */
	size_t copy_size;
};

/* ---- processes ------------------------------------------------------------------- */

static bool is_counted_process(const struct sampler *s, pid_t pid)
{
	return pid > 0 && pid < PIDS && s->counted[pid / 8] & 1 << pid % 8;
}

static void set_counted(struct sampler *s, pid_t pid, bool counted)
{
	uint8_t bit = (uint8_t)(1 << pid % 8);

	if (pid <= 0 || pid >= PIDS)
		return;
	s->counted[pid / 8] = counted ? s->counted[pid / 8] | bit : s->counted[pid / 8] & ~bit;
}

/* ---- the stage of the samples ---------------------------------------------------- */

struct beside_stage {
	struct stream stream;
	struct sampler *sampler;
};

static struct sampler *sampler_of(struct stream *s)
{
	return ((struct beside_stage *)s)->sampler;
}

/* A parent that has ended is not known. What was forked most likely counts. */
static int beside_process(struct stream *stream, const struct pcce_rec_process *rec,
			  const char *comm)
{
	struct sampler *s = sampler_of(stream);
	pid_t pid = (pid_t)rec->pid, ppid = (pid_t)rec->ppid;

	if (rec->flags & PCCE_PROCESS_EXEC) {
		set_counted(s, pid, pid == s->pid && !s->begun);
		s->begun |= pid == s->pid;
	} else if (rec->flags & PCCE_PROCESS_FORK) {
		set_counted(s, pid, ppid <= 1 || is_counted_process(s, ppid));
	}
	return stream_pass(stream->next, process, rec, comm);
}

/* Returns whether entries name added code; if to is not NULL, to is changed: it is their copy. */
static bool change_entries(const struct sampler *s, const struct pcce_entry *entries, uint32_t n,
			   struct pcce_entry *to)
{
	bool any = false;

	for (uint32_t i = 0; i + 1 < n; i++) {
		uint64_t address = entries[i].site & PCCE_SITE_MASK;
		enum count_code code;

		if (entries[i].site >> PCCE_SITE_BITS != PCCE_COUNT_SIGNAL)
			continue;
		code = count_code_at(s->counter, &address, entries[i + 1].site & PCCE_SITE_MASK);
		any |= code != COUNT_CODE_OTHER;
		if (to && code == COUNT_CODE_ENTRY)
			to[i].site = PCCE_COUNT_SIGNAL << PCCE_SITE_BITS | address;
		else if (to && code == COUNT_CODE_UNKNOWN)
			to[i].id = PCCE_ID_LOST;
	}
	return any;
}

/* Changes the entries of a sample and those of its segments, as the function above does. */
static bool change_stack(const struct sampler *s, const struct pcce_sample *sample,
			 struct pcce_sample *to)
{
	const struct pcce_entry *entries = pcce_sample_entries(sample);
	const struct pcce_segment *segments = pcce_sample_segments(sample);
	bool any = change_entries(s, entries, sample->n_entries,
				  to ? (struct pcce_entry *)(to + 1) : NULL);

	for (uint32_t i = 0; i < sample->n_segments; i++) {
		struct pcce_segment *segment =
			to ? (struct pcce_segment *)((struct pcce_entry *)(to + 1) +
						     to->n_entries) +
					i
			   : NULL;

		any |= change_entries(s, segments[i].entry, PCCE_SEGMENT_ENTRIES,
				      segment ? segment->entry : NULL);
	}
	return any;
}

static struct pcce_sample *copy_sample_whole(struct sampler *s, const struct pcce_sample *sample)
{
	size_t size = pcce_sample_size(sample);

	if (array_reserve(&s->copy, &s->copy_size, size, 1))
		return NULL;
	return memcpy(s->copy, sample, size);
}

/* Changes a copy of a sample that has to do with added code, at ip or in its stack. */
static void change_sample(const struct sampler *s, const struct pcce_sample *sample,
			  enum count_code code, uint64_t ip, struct pcce_sample *copy)
{
	change_stack(s, sample, copy);
	if (code == COUNT_CODE_ENTRY) {
		copy->ip = ip;
		copy->flags |= PCCE_SAMPLE_COUNTING;
	} else if (code == COUNT_CODE_UNKNOWN) {
		copy->id = PCCE_ID_LOST;
		copy->ext = 0;
	}
	/* There is no unwind information for added code, so what an unwinder finds behind it may be
	 * anything. */
	if (copy->flags & PCCE_SAMPLE_STACK)
		copy->flags |= PCCE_SAMPLE_UNWIND_BAD;
	if (code != COUNT_CODE_OTHER && copy->n_stack)
		copy->n_stack = 1;
}

static int beside_event(struct stream *stream, struct stream_event *e)
{
	struct sampler *s = sampler_of(stream);
	const struct pcce_sample *sample = e->sample;
	bool between = !count_was_on(s->counter, sample->time), added = false;
	enum count_code code = COUNT_CODE_OTHER;
	struct pcce_sample *copy;
	uint64_t ip = sample->ip;

	if (is_counted_process(s, (pid_t)sample->pid) &&
	    !(sample->flags & (PCCE_SAMPLE_OUTSIDE | PCCE_SAMPLE_READ_FAULT))) {
		code = count_code_at(s->counter, &ip, sample->r11);
		added = code != COUNT_CODE_OTHER || change_stack(s, sample, NULL);
	}
	e->number = 1;
	if (!between && !added)
		return stream_pass(stream->next, event, e);
	copy = copy_sample_whole(s, sample);
	if (!copy)
		return -ENOMEM;
	if (added)
		change_sample(s, sample, code, ip, copy);
	if (between)
		copy->flags |= PCCE_SAMPLE_BETWEEN;
	e->sample = copy;
	return stream_pass(stream->next, event, e);
}

static int beside_lost(struct stream *stream, const struct pcce_rec_lost *rec)
{
	struct pcce_rec_lost changed = *rec;

	changed.event = 1;
	return stream_pass(stream->next, lost, &changed);
}

static struct beside_stage sample_stage(struct sampler *s, struct stream *to)
{
	static const struct stream_ops ops = {
		.process = beside_process, .event = beside_event, .lost = beside_lost};

	return (struct beside_stage){{&ops, to}, s};
}

/* ---- the stage of the calls ------------------------------------------------------ */

/*
 * The counter tells at the end where the program was mapped. In a process that has executed another
 * program since, that must not seem true for the samples before.
 */
static int counter_process(struct stream *stream, const struct pcce_rec_process *rec,
			   const char *comm)
{
	struct pcce_rec_process changed = *rec;

	if (!is_counted_process(sampler_of(stream), (pid_t)rec->pid))
		changed.flags |= PCCE_PROCESS_EXEC;
	return stream_pass(stream->next, process, &changed, comm);
}

static struct beside_stage call_stage(struct sampler *s, struct stream *to)
{
	static const struct stream_ops ops = {.process = counter_process};

	return (struct beside_stage){{&ops, to}, s};
}

/* ---- the sampler ----------------------------------------------------------------- */

static void beside_destroy(struct sampler *s)
{
	if (s->other)
		s->ops->destroy(s->other);
	if (s->counter)
		sampler_count.destroy(s->counter);
	free(s->copy);
	free(s);
}

static int beside_probe(const struct sampler_config *config, struct error *why)
{
	int err = sampler_count.probe(config, why);

	return err ? err : config->beside->probe(config, why);
}

static int beside_prepare(const struct sampler_config *config, struct sampler **out,
			  struct error *why)
{
	struct sampler *s = calloc(1, sizeof(*s));
	struct error reason = {0};
	int err = s ? 0 : error_memory(why);

	if (err)
		return err;
	s->ops = config->beside;
	err = sampler_count.prepare(config, &s->counter, why);
	if (!err && s->ops->prepare(config, &s->other, &reason))
		err = error_set(why, -EINVAL, "the %s sampler does not work: %s", s->ops->name,
				reason.text);
	if (err)
		beside_destroy(s);
	else
		*out = s;
	return err;
}

static int beside_start(struct sampler *s, pid_t pid, struct error *why)
{
	int err = sampler_count.start(s->counter, pid, why);

	s->pid = pid;
	return err ? err : s->ops->start(s->other, pid, why);
}

static int beside_released(struct sampler *s, struct error *why)
{
	int err = sampler_count.released(s->counter, why);

	return err || !s->ops->released ? err : s->ops->released(s->other, why);
}

static int beside_poll(struct sampler *s, struct stream *to, int timeout_ms)
{
	struct beside_stage stage = sample_stage(s, to);

	return s->ops->poll(s->other, &stage.stream, timeout_ms);
}

static uint64_t beside_rest(const struct sampler *s)
{
	return sampler_count.rest(s->counter);
}

/* The counter is last: then no more calls are missing than with the counter alone. */
static int beside_stop(struct sampler *s, struct stream *to)
{
	struct beside_stage stage = sample_stage(s, to);
	int err = s->ops->stop(s->other, &stage.stream), counter_err;

	stage = call_stage(s, to);
	counter_err = sampler_count.stop(s->counter, &stage.stream);
	return err ? err : counter_err;
}

static void beside_account(struct sampler *s, struct sampler_due *due)
{
	sampler_count.account(s->counter, &due[0]);
	if (s->ops->account)
		s->ops->account(s->other, &due[1]);
}

static const char *beside_why_nothing(const struct sampler *s)
{
	return sampler_count.why_nothing(s->counter);
}

const struct sampler_ops sampler_beside = {
	.name = "count",
	.probe = beside_probe,
	.prepare = beside_prepare,
	.start = beside_start,
	.released = beside_released,
	.poll = beside_poll,
	.rest = beside_rest,
	.stop = beside_stop,
	.account = beside_account,
	.why_nothing = beside_why_nothing,
	.destroy = beside_destroy,
};
