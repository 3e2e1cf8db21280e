/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads all records of a recording but its samples into a profile. Of the samples it sees only
 * where they come from: processes, threads and times.
 */
#include <errno.h>
#include <string.h>
#include "profile/profile_internal.h"
#include "stream/names.h"

struct first_pass {
	struct stream stream;
	struct profile *p;
	bool any; /* sample */
};

static int see_sample(struct stream *stream, struct stream_event *e)
{
	struct profile *p = ((struct first_pass *)stream)->p;
	const struct pcce_sample *s = e->sample;
	struct profile_event_sum *sum;

	if (!((struct first_pass *)stream)->any)
		p->first = p->last = s->time;
	((struct first_pass *)stream)->any = true;
	if (s->time < p->first)
		p->first = s->time;
	if (s->time > p->last)
		p->last = s->time;
	sum = &p->in->events[recording_account_of(s->event)];
	sum->samples += e->samples;
	sum->weight += e->weight;
	sum->bytes += e->bytes;
	return 0;
}

static void copy_recording_info(struct profile *p, const struct recording *r)
{
	p->sampler = r->sampler;
	p->events = r->event;
	p->calls = r->info.flags & PCCE_INFO_CALLS;
	p->n_events = datafile_events(r->event);
	p->command = r->command;
	p->host = r->host;
	p->kernel = r->kernel;
	memcpy(p->in->rates, r->rates, sizeof(p->in->rates));
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

int profile_read(struct profile *p, const char *path, struct error *why)
{
	static const struct stream_ops ops = {.event = see_sample};
	struct first_pass pass = {{&ops, NULL}, p, false};
	struct recording_names names = {
		{&recording_names_ops, threads_stage(p->threads, &pass.stream)},
		p->names,
		p->streams};
	struct recording *r;
	int err = recording_open(path, "reading", &names.stream, &r, why);

	if (err)
		return err;
	p->in->recording = r;
	copy_recording_info(p, r);
	if (recording_names_finish(&names, r))
		return -ENOMEM;
	threads_finish(p->threads);
	return 0;
}
