/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See frames.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/array.h"
#include "base/clock.h"
#include "filter/frames.h"

/* Without --frames, only a program that has written to its samples makes one of these. */
#define COPIED (PCCE_SAMPLE_COPY | PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_FRAMES_PARTIAL)

struct frames {
	struct stream stream;
	struct restorer *restorer; /* NULL: restore no frames */
	bool outside;		   /* only those of threads that are not instrumented */
	const struct active_sampler *sampler;
	uint32_t need;		     /* words of stacks that samples need; 0: not known */
	uint64_t copied;	     /* bytes of stacks that samples had */
	struct pcce_rec_frames told; /* by the records of earlier windows */
	struct pcce_sample *sample;
	size_t size;
};

static struct frames *frames_stage(struct stream *s)
{
	return (struct frames *)s;
}

static void shorten_stacks(struct frames *f)
{
	uint32_t need = restorer_need(f->restorer);

	if (f->sampler->ops->shorten && need != f->need)
		f->sampler->ops->shorten(f->sampler->sampler, need);
	f->need = need;
}

/* Makes the sample with these frames instead of its own stack. NULL: no memory. */
static const struct pcce_sample *with_frames(struct frames *f, const struct pcce_sample *s,
					     const uint64_t *frames, uint32_t n, uint32_t flags)
{
	size_t kept = pcce_sample_size(s) - s->n_stack * sizeof(*frames);
	size_t size = kept + n * sizeof(*frames);

	if (array_reserve(&f->sample, &f->size, size, 1))
		return NULL;
	memcpy(f->sample, s, kept);
	if (n)
		memcpy((char *)f->sample + kept, frames, n * sizeof(*frames));
	f->sample->flags &= ~COPIED;
	f->sample->flags |= flags;
	f->sample->n_stack = n;
	return f->sample;
}

static int restore_event(struct frames *f, struct stream_event *e)
{
	const struct pcce_sample *s = e->sample;
	const uint64_t *frames = NULL;
	uint32_t flags = 0, n = 0;

	f->copied += s->n_stack * sizeof(uint64_t);
	if (f->restorer && (!f->outside || s->flags & PCCE_SAMPLE_OUTSIDE)) {
		if (restorer_sample(f->restorer, s, &frames, &n, &flags))
			return -ENOMEM;
		shorten_stacks(f);
	}
	e->sample = with_frames(f, s, frames, n, flags);
	return e->sample ? 0 : -ENOMEM;
}

static int frames_event(struct stream *s, struct stream_event *e)
{
	int r = 0;

	if (e->sample->flags & COPIED && !e->aggregated)
		r = restore_event(frames_stage(s), e);
	return r ? r : stream_pass(s->next, event, e);
}

/* Writes what restoring frames took since the last time. */
static int write_frames(struct frames *f)
{
	const struct sampler_ops *ops = f->sampler->ops;
	struct pcce_rec_frames all = {0}, rec = {.time = clock_ns(CLOCK_MONOTONIC)};

	if (!f->restorer)
		return 0;
	restorer_count(f->restorer, &all);
	all.copied = ops->copied ? ops->copied(f->sampler->sampler) : f->copied;
	rec.unwound = all.unwound - f->told.unwound;
	rec.reused = all.reused - f->told.reused;
	rec.copied = all.copied - f->told.copied;
	f->told = all;
	return stream_pass(f->stream.next, record, PCCE_REC_FRAMES, &rec, sizeof(rec), NULL, 0);
}

static int frames_window(struct stream *s)
{
	int r = write_frames(frames_stage(s));

	return r ? r : stream_pass(s->next, window);
}

static int frames_end(struct stream *s)
{
	int r = write_frames(frames_stage(s));

	return r ? r : stream_pass(s->next, end);
}

static void frames_free(struct stream *s)
{
	struct frames *f = frames_stage(s);

	restorer_free(f->restorer);
	free(f->sample);
	free(f);
}

struct stream *frames_new(const struct frames_config *config, const struct record_modules *m,
			  struct address_spaces *spaces, const struct active_sampler *sampler)
{
	static const struct stream_ops stage = {.event = frames_event,
						.window = frames_window,
						.end = frames_end,
						.free = frames_free};
	struct frames *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->stream.ops = &stage;
	f->sampler = sampler;
	f->outside = config->which == SAMPLER_COPY_OUTSIDE;
	if (config->which != SAMPLER_COPY_NONE)
		f->restorer = restorer_new(m, spaces, config->reuse);
	if (config->which == SAMPLER_COPY_NONE || f->restorer)
		return &f->stream;
	frames_free(&f->stream);
	return NULL;
}
