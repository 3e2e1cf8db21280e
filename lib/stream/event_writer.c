/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See event_writer.h. */
#include <stdlib.h>
#include <pcce/sample.h>
#include "stream/event_writer.h"
#include "stream/kernel_stacks.h"
#include "stream/label_sets.h"

struct event_writer {
	struct stream stream;
	struct datafile_writer *w;
	struct kernel_stacks_written kernel;
	struct label_sets_written labels;
};

static struct event_writer *event_writer_of(struct stream *s)
{
	return (struct event_writer *)s;
}

static struct datafile_writer *writer_of(struct stream *s)
{
	return event_writer_of(s)->w;
}

static int put_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	return datafile_put_strings(writer_of(s), PCCE_REC_PROCESS, rec, sizeof(*rec), &comm, 1);
}

static int put_thread(struct stream *s, const struct pcce_rec_thread *rec, const char *comm)
{
	return datafile_put_strings(writer_of(s), PCCE_REC_THREAD, rec, sizeof(*rec), &comm, 1);
}

static int put_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		   const char *path)
{
	(void)pgoff;
	(void)path;
	return datafile_put(writer_of(s), PCCE_REC_MAP, rec, sizeof(*rec), NULL, 0);
}

static int put_lost(struct stream *s, const struct pcce_rec_lost *rec)
{
	return datafile_put(writer_of(s), PCCE_REC_LOST, rec, sizeof(*rec), NULL, 0);
}

static int put_aggregated(struct datafile_writer *w, struct stream_event *e,
			  struct pcce_sample *sample, const struct iovec *rest)
{
	struct pcce_rec_sum rec = {.samples = e->samples, .weight = e->weight, .sample = *sample};

	rec.sample.flags &= ~PCCE_SAMPLE_COUNTED;
	rec.sample.weight = 0;
	rec.sample.sp = 0;
	return datafile_put(w, PCCE_REC_SUM, &rec, sizeof(rec), rest, 1);
}

static int put_durations(struct datafile_writer *w, const struct pcce_durations *d)
{
	const struct pcce_rec_durations rec = {.durations = *d};
	const struct iovec buckets = {(void *)(uintptr_t)(d + 1),
				      d->n * sizeof(struct pcce_duration_count)};

	return datafile_put(w, PCCE_REC_DURATIONS, &rec, sizeof(rec), &buckets, 1);
}

/* A sample with too many segments, which --only kept, becomes an aggregated one. That has no
 * addresses of the real stack. */
static int put_event(struct stream *s, struct stream_event *e)
{
	struct pcce_rec_sample rec = {.sample = *e->sample};
	bool long_stack = rec.sample.n_segments > PCCE_SAMPLE_SEGMENTS;
	struct iovec rest;
	int r = kernel_stacks_write(&event_writer_of(s)->kernel, writer_of(s), e->kernel,
				    &rec.sample);

	r = r ? r : label_sets_write(&event_writer_of(s)->labels, writer_of(s), e->labels);
	if (r)
		return r;
	if (e->wait && !e->aggregated && !long_stack) {
		const struct pcce_rec_wait wait = {.wait = *e->wait};

		r = datafile_put(writer_of(s), PCCE_REC_WAIT, &wait, sizeof(wait), NULL, 0);
		if (r)
			return r;
	}
	if (e->durations && e->aggregated) {
		r = put_durations(writer_of(s), e->durations);
		if (r)
			return r;
	}
	rec.sample.event = e->number;
	if (long_stack && !e->aggregated && rec.sample.flags & PCCE_SAMPLE_STACK) {
		rec.sample.flags &= ~PCCE_SAMPLE_STACK;
		rec.sample.n_stack = 0;
	}
	rest.iov_base = (void *)(uintptr_t)(e->sample + 1);
	rest.iov_len = pcce_sample_size(&rec.sample) - sizeof(rec.sample);
	if (e->aggregated || long_stack)
		return put_aggregated(writer_of(s), e, &rec.sample, &rest);
	return datafile_put(writer_of(s), PCCE_REC_SAMPLE, &rec, sizeof(rec), &rest, 1);
}

static int put_record(struct stream *s, uint32_t type, const void *rec, size_t size,
		      const char *const *strings, int n_strings)
{
	return datafile_put_strings(writer_of(s), type, rec, size, strings, n_strings);
}

static void free_event_writer(struct stream *s)
{
	kernel_stacks_written_free(&event_writer_of(s)->kernel);
	label_sets_written_free(&event_writer_of(s)->labels);
	free(s);
}

struct stream *event_writer_new(struct datafile_writer *w)
{
	static const struct stream_ops ops = {
		.process = put_process,
		.thread = put_thread,
		.map = put_map,
		.lost = put_lost,
		.event = put_event,
		.record = put_record,
		.free = free_event_writer,
	};
	struct event_writer *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->stream.ops = &ops;
	e->w = w;
	return &e->stream;
}
