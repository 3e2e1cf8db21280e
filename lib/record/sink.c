/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Writes what samplers deliver as records, or counts it (--hot): a sink for each event, and the
 * sums of what was due, taken and lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <pcce/sample.h>
#include "base/clock.h"
#include "record/classes.h"
#include "record/recorder.h"
#include "sampler/places.h"

static int sink_lost(void *ctx, uint64_t time, uint32_t reason, uint64_t count);

/* Writes a record of samples, which are counted already. What no reader would accept is lost: only
 * a program that has written to its samples makes such a thing. */
static int put_samples(struct recorded_event *e, uint32_t type, uint64_t samples, const void *fixed,
		       size_t size, const struct iovec *rest, int n_rest)
{
	int err = datafile_put(e->r->writer, type, fixed, size, rest, n_rest);

	if (err != -EBADMSG)
		return err;
	e->samples -= samples;
	return sink_lost(e, clock_ns(CLOCK_MONOTONIC), PCCE_LOSS_SHAPE, samples);
}

/* Writes an aggregated sample. */
static int write_sum(struct recorded_event *e, const struct pcce_sample *s, uint64_t samples,
		     uint64_t weight, const struct iovec *rest, int n_rest)
{
	struct pcce_rec_sum rec = {.samples = samples, .weight = weight, .sample = *s};

	rec.sample.event = e->number;
	rec.sample.flags &= ~PCCE_SAMPLE_COUNTED;
	rec.sample.weight = 0;
	rec.sample.sp = 0;
	return put_samples(e, PCCE_REC_SUM, samples, &rec, sizeof(rec), rest, n_rest);
}

/* Writes a sample. With too many segments, which --only kept, it is an aggregated one. */
static int write_sample(struct recorded_event *e, struct pcce_rec_sample *rec,
			const struct iovec *rest, int n_rest)
{
	rec->sample.event = e->number;
	e->samples++;
	if (rec->sample.n_segments <= PCCE_SAMPLE_SEGMENTS)
		return put_samples(e, PCCE_REC_SAMPLE, 1, rec, sizeof(*rec), rest, n_rest);
	return write_sum(e, &rec->sample, 1, rec->sample.weight ? rec->sample.weight : 1, rest,
			 n_rest);
}

static void shorten_stacks(struct recorder *r)
{
	uint32_t need = r->options->restorer->need(r->restorer);

	if (r->ops->shorten && need != r->need)
		r->ops->shorten(r->sampler, need);
	r->need = need;
}

/* Writes a sample with a copy of the stack: with the frames that are restored from it instead. */
static int write_restored(struct recorded_event *e, const struct pcce_sample *s)
{
	struct recorder *r = e->r;
	const uint64_t *frames = NULL;
	struct pcce_rec_sample rec = {.sample = *s};
	uint32_t flags = 0, n = 0;
	int err = 0;

	rec.sample.flags &= ~(PCCE_SAMPLE_COPY | PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_FRAMES_PARTIAL);
	rec.sample.n_stack = 0;
	r->copied += s->n_stack * sizeof(uint64_t);
	if (r->restorer) {
		err = r->options->restorer->sample(r->restorer, s, &frames, &n, &flags);
		shorten_stacks(r);
	}
	if (err)
		return err;

	struct iovec rest[2] = {
		{(void *)(uintptr_t)(s + 1), pcce_sample_size(&rec.sample) - sizeof(*s)},
		{(void *)(uintptr_t)frames, n * sizeof(*frames)}};

	rec.sample.flags |= flags;
	rec.sample.n_stack = n;
	return write_sample(e, &rec, rest, 2);
}

static int write_plain(struct recorded_event *e, const struct pcce_sample *s)
{
	struct pcce_rec_sample rec = {.sample = *s};

	/* An aggregated sample has no addresses of the real stack. */
	if (s->n_segments > PCCE_SAMPLE_SEGMENTS && !(s->flags & PCCE_SAMPLE_COUNTED)) {
		rec.sample.flags &= ~PCCE_SAMPLE_STACK;
		rec.sample.n_stack = 0;
	}

	struct iovec rest = {(void *)(uintptr_t)(s + 1),
			     pcce_sample_size(&rec.sample) - sizeof(*s)};

	if (!(s->flags & PCCE_SAMPLE_COUNTED))
		return write_sample(e, &rec, &rest, 1);
	e->samples += s->sp;
	return write_sum(e, s, s->sp, s->weight ? s->weight : s->sp, &rest, 1);
}

/* ---- debuggers --------------------------------------------------------------------- */

static struct classes classes_of(const struct recorder *r)
{
	struct classes c = {.ops = r->ops, .sampler = r->sampler};

	if (r->hot) {
		c.spaces = hot_recorder_spaces(r->hot);
		c.keys = hot_recorder_keys(r->hot);
	} else if (r->only) {
		c.spaces = only_spaces(r->only);
		c.keys = only_keys(r->only);
	}
	return c;
}

void recorder_look(struct recorder *r, pid_t pid)
{
	const struct classes classes = classes_of(r);

	if (!running_look(&r->running, pid))
		return;
	r->traced = r->traced ? r->traced : pid;
	/* What the sampler counts in places has no mark. */
	if (classes.spaces) {
		uint32_t epoch = address_spaces_epoch(classes.spaces, (uint32_t)pid);

		address_spaces_end_epoch(classes.spaces, (uint32_t)pid);
		classes_end_epoch(&classes, (uint32_t)pid, epoch);
	}
}

/* Returns the sample, or a copy with a mark if a debugger is or was attached to its process. NULL:
 * no memory. */
static const struct pcce_sample *mark_traced(struct recorder *r, const struct pcce_sample *s)
{
	size_t size = pcce_sample_size(s);

	recorder_look(r, (pid_t)s->pid);
	if (!running_traced(&r->running, (pid_t)s->pid))
		return s;
	if (size > r->marked_size) {
		struct pcce_sample *grown = realloc(r->marked, size);

		if (!grown)
			return NULL;
		r->marked = grown;
		r->marked_size = size;
	}
	memcpy(r->marked, s, size);
	r->marked->flags |= PCCE_SAMPLE_TRACED;
	return r->marked;
}

/* ---- samples ----------------------------------------------------------------------- */

/* Takes a sample that is not left out. */
static int take_kept(struct recorded_event *e, const struct pcce_sample *s)
{
	struct recorder *r = e->r;
	uint64_t samples = s->flags & PCCE_SAMPLE_COUNTED ? s->sp : 1;

	e->outside += s->flags & PCCE_SAMPLE_OUTSIDE ? samples : 0;
	if (r->hot) {
		e->samples += samples;
		return hot_recorder_sample(r->hot, s);
	}
	if (s->flags & (PCCE_SAMPLE_COPY | PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_FRAMES_PARTIAL) &&
	    !(s->flags & PCCE_SAMPLE_COUNTED))
		return write_restored(e, s);
	return write_plain(e, s);
}

#define ROOM_AT_END (4u << 20) /* bytes, for source lines and the like */

/* Has the file room for a sample? What the sampler writes at its end must find room after it. */
static bool has_room(struct recorder *r, const struct pcce_sample *s)
{
	uint64_t size = datafile_size(r->writer) + pcce_sample_size(s) + ROOM_AT_END;

	return disk_room_reserve(&r->room, r->output.fd, size + r->ops->rest(r->sampler));
}

static int take_marked(struct recorded_event *e, const struct pcce_sample *s)
{
	if (e->number && e->r->ops->rest && !has_room(e->r, s)) {
		e->r->room.refused++;
		return 0;
	}
	if (e->r->only && only_sample(e->r->only, s, &s))
		return -ENOMEM;
	return s ? take_kept(e, s) : 0;
}

static int sink_sample(void *ctx, const struct pcce_sample *s)
{
	struct recorded_event *e = ctx;

	s = mark_traced(e->r, s);
	return s ? take_marked(e, s) : -ENOMEM;
}

/* ---- samplers that count --------------------------------------------------------- */

/* A sample that claims a place, and is not left out. */
static int take_claim(struct recorded_event *e, const struct pcce_sample *s,
		      const struct sampler_counting *c)
{
	if (!e->r->hot)
		return take_kept(e, s);
	e->samples++;
	e->outside += s->flags & PCCE_SAMPLE_OUTSIDE ? 1 : 0;
	return hot_recorder_claim(e->r->hot, s, c->place, c->epoch);
}

static int sink_claim(void *ctx, const struct pcce_sample *s, const struct sampler_counting *c)
{
	struct recorded_event *e = ctx;
	struct recorder *r = e->r;
	const struct classes classes = classes_of(r);

	s = mark_traced(r, s);
	if (!s || !classes.keys)
		return -ENOMEM;
	classes_tell(&classes, s, r->hot);
	if (c->place == PCCE_NO_PLACE)
		return take_marked(e, s);
	if (r->only && only_claim(r->only, s, c->place, c->epoch, &s))
		return -ENOMEM;
	if (s)
		return take_claim(e, s, c);
	if (!r->hot)
		places_refuse(r->ops->places(r->sampler), c->place, c->claim);
	return 0;
}

/* Takes what a place has counted for a state whose first sample was left out. */
static int take_refused(struct recorded_event *e, uint32_t place, uint64_t samples, uint64_t weight)
{
	struct recorder *r = e->r;
	const struct pcce_sample *s;

	only_counted(r->only, place, samples, weight, &s);
	if (!s)
		return 0;
	e->samples += samples;
	return r->hot ? hot_recorder_add_equal(r->hot, s, samples, weight)
		      : write_sum(e, s, samples, weight, NULL, 0);
}

static int sink_counted(void *ctx, uint32_t place, uint64_t samples, uint64_t weight)
{
	struct recorded_event *e = ctx;
	struct recorder *r = e->r;
	const struct pcce_sample *s;

	if (r->only && only_leaves_out(r->only, place))
		return take_refused(e, place, samples, weight);
	if (!r->hot)
		return -EPROTO;
	s = hot_recorder_place(r->hot, place);
	e->samples += samples;
	if (s && s->flags & PCCE_SAMPLE_OUTSIDE)
		e->outside += samples;
	return hot_recorder_counted(r->hot, place, samples, weight);
}

/* ---- summaries, processes, losses ------------------------------------------------ */

static int sink_begin_summary(void *ctx, uint64_t missing, uint64_t nameless)
{
	struct recorded_event *e = ctx;

	e->samples += nameless;
	return hot_recorder_begin_summary(e->r->hot, missing, nameless);
}

static int sink_summary_sample(void *ctx, const struct pcce_sample *s, uint64_t weight,
			       uint64_t error)
{
	struct recorded_event *e = ctx;

	s = mark_traced(e->r, s);
	e->samples += weight;
	return s ? hot_recorder_add(e->r->hot, s, weight, error) : -ENOMEM;
}

/* After a process or its mappings have changed, 0 or the error that came. */
static int end_epoch(const struct recorder *r, uint32_t pid, uint32_t before, int err)
{
	const struct classes classes = classes_of(r);

	if (!err && classes.spaces)
		classes_end_epoch(&classes, pid, before);
	return err;
}

static uint32_t epoch_of(const struct recorder *r, uint32_t pid)
{
	const struct classes classes = classes_of(r);

	return classes.spaces ? address_spaces_epoch(classes.spaces, pid) : 0;
}

static int sink_process(void *ctx, uint64_t time, pid_t pid, pid_t ppid, uint32_t flags,
			const char *comm)
{
	struct recorded_event *e = ctx;
	struct recorder *r = e->r;
	struct pcce_rec_process rec = {
		.time = time, .pid = (uint32_t)pid, .ppid = (uint32_t)ppid, .flags = flags};
	uint32_t epoch = epoch_of(r, rec.pid);
	int err;

	recorder_look(r, ppid);
	err = running_note(&r->running, &rec);
	if (pid == r->main_pid)
		r->main_module = NULL;
	e->threads++;
	if (!err && r->restorer)
		err = r->options->restorer->process(r->restorer, &rec);
	if (!err && r->only)
		err = only_process(r->only, &rec);
	if (!err && r->hot)
		err = hot_recorder_process(r->hot, &rec);
	if (end_epoch(r, rec.pid, epoch, err))
		return -ENOMEM;
	return datafile_put_strings(r->writer, PCCE_REC_PROCESS, &rec, sizeof(rec),
				    (const char *const[]){comm}, 1);
}

static int sink_thread(void *ctx, uint64_t time, pid_t pid, pid_t tid, const char *comm)
{
	struct recorded_event *e = ctx;
	struct pcce_rec_thread rec = {.time = time, .pid = (uint32_t)pid, .tid = (uint32_t)tid};

	e->threads++;
	return datafile_put_strings(e->r->writer, PCCE_REC_THREAD, &rec, sizeof(rec),
				    (const char *const[]){comm}, 1);
}

/* Libraries bring the runtime into a program that does not have it. */
static bool is_shared_runtime(const char *path)
{
	static const char name[] = "/libpcce.so.";
	const char *slash = strrchr(path, '/');

	return slash && !strncmp(slash, name, sizeof(name) - 1);
}

static int sink_map(void *ctx, uint64_t time, pid_t pid, uint64_t start, uint64_t length,
		    uint64_t pgoff, const char *path)
{
	struct recorder *r = ((struct recorded_event *)ctx)->r;
	struct pcce_rec_map rec = {.time = time,
				   .start = start,
				   .length = length,
				   .pid = (uint32_t)pid,
				   .module = PCCE_MODULE_NONE};
	uint32_t epoch = epoch_of(r, rec.pid);
	const struct record_module *module;
	uint64_t vaddr;
	int err;

	if (start + length < start)
		return 0;
	err = record_modules_map(r->modules, pid, start, length, pgoff, path, &module, &vaddr);
	if (err)
		return err;
	if (module) {
		rec.module = module->index;
		rec.vaddr = vaddr;
		r->any_instrumented |= module->instrumented;
		r->shared_runtime |= is_shared_runtime(path);
		if (module->program && pid == r->main_pid &&
		    !r->main_module) /* libraries come later */
			r->main_module = module;
	}
	if (r->restorer)
		err = r->options->restorer->map(r->restorer, &rec);
	if (!err && r->only)
		err = only_map(r->only, &rec);
	if (!err && r->hot)
		err = hot_recorder_map(r->hot, &rec);
	if (end_epoch(r, rec.pid, epoch, err))
		return -ENOMEM;
	return datafile_put(r->writer, PCCE_REC_MAP, &rec, sizeof(rec), NULL, 0);
}

static int sink_lost(void *ctx, uint64_t time, uint32_t reason, uint64_t count)
{
	struct recorded_event *e = ctx;
	struct pcce_rec_lost rec = {
		.time = time, .count = count, .reason = reason, .event = e->number};

	e->lost += count;
	e->lost_reasons[reason] += count;
	return datafile_put(e->r->writer, PCCE_REC_LOST, &rec, sizeof(rec), NULL, 0);
}

void recorder_sinks(struct recorder *r, struct sampler_sink to[RECORDER_EVENTS])
{
	for (uint32_t i = 0; i < RECORDER_EVENTS; i++) {
		r->events[i].r = r;
		r->events[i].number = i;
		to[i] = (struct sampler_sink){.ctx = &r->events[i],
					      .sample = sink_sample,
					      .claim = sink_claim,
					      .counted = sink_counted,
					      .process = sink_process,
					      .thread = sink_thread,
					      .map = sink_map,
					      .lost = sink_lost,
					      .begin_summary = sink_begin_summary,
					      .summary_sample = sink_summary_sample};
	}
}

/* ---- what was due ---------------------------------------------------------------- */

/*
 * Writes how many samples of an event were due. What is neither taken, nor left out, nor merged,
 * nor in the kernel, nor lost for a known reason is lost without one. A thread's last, unfinished
 * period is not due; if the sampler cannot tell, each thread may have had one.
 */
static int write_due(struct recorded_event *e, uint64_t now)
{
	struct sampler_due *due = &e->due;
	uint64_t taken = e->samples + (e->r->only ? only_count(e->r->only)->left_out : 0);
	uint64_t found = taken + e->lost + due->merged + due->kernel;
	uint64_t rests = due->with_rests ? e->threads : 0;
	int err = 0;

	if (due->known && due->due > found + rests)
		err = sink_lost(e, now, PCCE_LOSS_UNEXPLAINED, due->due - found - rests);
	due->due = due->known ? taken + e->lost + due->merged + due->kernel : 0;

	struct pcce_rec_due rec = {.time = now,
				   .due = due->due,
				   .merged = due->merged,
				   .kernel = due->kernel,
				   .flags = due->known ? 0 : PCCE_DUE_UNKNOWN,
				   .event = e->number};
	struct pcce_rec_counted counted = {.time = now, .samples = due->counted};

	err = err ? err : datafile_put(e->r->writer, PCCE_REC_DUE, &rec, sizeof(rec), NULL, 0);
	if (err || !counted.samples)
		return err;
	return datafile_put(e->r->writer, PCCE_REC_COUNTED, &counted, sizeof(counted), NULL, 0);
}

int recorder_write_due(struct recorder *r)
{
	struct sampler_due due[RECORDER_EVENTS] = {0};
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	if (r->room.refused)
		err = sink_lost(&r->events[r->n_events - 1], now, PCCE_LOSS_DISK, r->room.refused);
	if (r->ops->account)
		r->ops->account(r->sampler, due);
	for (uint32_t i = 0; i < r->n_events && !err; i++) {
		r->events[i].due = due[i];
		err = write_due(&r->events[i], now);
	}
	return err;
}
