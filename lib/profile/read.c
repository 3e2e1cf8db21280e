/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads all records of a recording but its samples into a profile. Of the samples it sees only
 * where they come from: processes, threads and times.
 */
#include <errno.h>
#include <string.h>
#include "profile/profile_internal.h"

static int see_process(struct profile *p, const struct pcce_rec_process *rec)
{
	const char *name = datafile_string(&rec->rec, 0);
	uint32_t comm = symbol_table_intern(p->names, name);

	if (comm == UINT32_MAX || sample_streams_add_process(p->streams, rec, comm))
		return -ENOMEM;
	return threads_add_process(p->threads, rec, name);
}

static int see_thread(struct profile *p, const struct pcce_rec_thread *rec)
{
	const char *name = datafile_string(&rec->rec, 0);
	uint32_t comm = symbol_table_intern(p->names, name);

	if (comm == UINT32_MAX || sample_streams_add_thread(p->streams, rec, comm))
		return -ENOMEM;
	return threads_add_thread(p->threads, rec, name);
}

/* Streams and threads are numbered in the order of their first samples. */
static int see_sample(struct profile *p, const struct pcce_record *rec)
{
	struct datafile_sample of;
	const struct pcce_sample *s;
	struct profile_event_sum *sum;

	datafile_sample(rec, &of);
	s = of.sample;
	if (!p->in->events[0].samples && !p->in->events[1].samples)
		p->first = p->last = s->time;
	if (s->time < p->first)
		p->first = s->time;
	if (s->time > p->last)
		p->last = s->time;
	sum = &p->in->events[recording_account_of(s->event)];
	sum->samples += of.samples;
	sum->weight += of.weight;
	sum->bytes += rec->size;
	if (sample_streams_of(p->streams, s->pid, s->tid, s->event) == UINT32_MAX ||
	    threads_number(p->threads, s->pid, s->tid) == UINT32_MAX)
		return -ENOMEM;
	return 0;
}

static int read_record(void *ctx, const struct pcce_record *rec)
{
	struct profile *p = ctx;

	switch (rec->type) {
	case PCCE_REC_PROCESS:
		return see_process(p, (const void *)rec);
	case PCCE_REC_THREAD:
		return see_thread(p, (const void *)rec);
	case PCCE_REC_MAP:
		return symbol_table_add_map(p->names, (const void *)rec);
	case PCCE_REC_MODULE:
		return symbol_table_add_module(p->names, (const void *)rec,
					       datafile_string(rec, 0));
	case PCCE_REC_SYMBOL:
		return symbol_table_add_symbol(p->names, (const void *)rec, datafile_string(rec, 0),
					       datafile_string(rec, 1));
	case PCCE_REC_SAMPLE:
	case PCCE_REC_SUM:
	case PCCE_REC_CONTEXT:
		return see_sample(p, rec);
	default:
		return 0;
	}
}

static void copy_recording_info(struct profile *p, const struct recording *r)
{
	p->sampler = r->sampler;
	p->events = r->event;
	p->calls = r->info.flags & PCCE_INFO_CALLS;
	p->command = r->command;
	p->host = r->host;
	p->kernel = r->kernel;
	p->in->frequency = r->info.frequency;
	p->in->period = r->info.period;
	p->start_time = r->info.start_time;
	p->wall_time = r->info.wall_time;
	p->stats.verify = r->info.flags & PCCE_INFO_VERIFY;
	memcpy(p->in->accounts, r->accounts, sizeof(p->in->accounts));
	p->summary = r->hot;
	p->only = r->only;
	p->hot.epsilon = r->hot.epsilon;
	p->hot.unkept = r->hot.unkept;
	p->hot.cold_name = symbol_table_intern(p->names, HOT_TREE_COLD);
	p->stats.frames = r->info.flags & PCCE_INFO_FRAMES;
	p->stats.frames_unwound = r->frames_unwound;
	p->stats.frames_reused = r->frames_reused;
	p->stats.stack_bytes = r->stack_bytes;
	p->complete = r->complete;
	p->cut_off = r->cut_off;
	p->unknown = r->unknown;
}

int profile_read(struct profile *p, const struct profile_source *s, struct error *why)
{
	const struct recording_visitor visitor = {"reading", read_record, p};
	struct recording *r;
	int err = s->path ? recording_open(s->path, &visitor, &r, why)
			  : recording_open_memory(s->data, s->size, s->name, &visitor, &r, why);

	if (err)
		return err;
	p->in->recording = r;
	copy_recording_info(p, r);
	for (uint32_t i = 0; i < r->n_modules && !err; i++)
		if (recording_table(r, i))
			err = symbol_table_set_table(p->names, i, recording_table(r, i));
	if (err || symbol_table_finish(p->names) || sample_streams_finish(p->streams))
		return -ENOMEM;
	threads_finish(p->threads);
	return 0;
}
