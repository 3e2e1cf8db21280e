/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The records of a recording, into memory: all but the samples. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "profile/profile_internal.h"
#include "base/progress.h"

static int add_table(struct profile *p, const struct pcce_rec_table *rec, const char *name,
		     struct error *why)
{
	struct profile_internals *in = p->in;
	struct profile_table *t, **more;
	struct error reason = {0};
	const void *data;
	size_t size;
	int r;

	data = datafile_table(rec, &size);
	if (in->n_tables == in->tables_capacity) {
		size_t want = in->tables_capacity ? in->tables_capacity * 2 : 16;

		more = reallocarray(in->tables, want, sizeof(struct profile_table *));
		if (!more)
			return -ENOMEM;
		in->tables = more;
		in->tables_capacity = want;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->module = rec->module;
	t->data = malloc(size + 1);
	if (!t->data) {
		free(t);
		return -ENOMEM;
	}
	memcpy(t->data, data, size);
	r = encoding_table_open(t->data, size, &t->table, &reason);
	if (!r)
		r = symbol_table_set_table(p->names, rec->module, &t->table);
	if (r) {
		free(t->data);
		free(t);
		if (r == -EINVAL)
			return error_set(why, r,
					 "%s: the encoding table of %s in it %s; record again "
					 "with a pcce of one version",
					 name,
					 *symbol_table_path(p->names, rec->module)
						 ? symbol_table_path(p->names, rec->module)
						 : "a module",
					 reason.text);
		return r;
	}
	in->tables[in->n_tables++] = t;
	return 0;
}

static int copy_string(char **to, const char *from)
{
	free(*to);
	*to = strdup(from);
	return *to ? 0 : -ENOMEM;
}

static int add_info(struct profile *p, const struct pcce_rec_info *rec)
{
	p->frequency = rec->frequency;
	p->period = rec->period;
	p->start_time = rec->start_time;
	p->wall_time = rec->wall_time;
	p->stats.verify = rec->flags & PCCE_INFO_VERIFY;
	if (copy_string(&p->sampler, datafile_string(&rec->rec, 0)) ||
	    copy_string(&p->event, datafile_string(&rec->rec, 1)) ||
	    copy_string(&p->command, datafile_string(&rec->rec, 2)) ||
	    copy_string(&p->host, datafile_string(&rec->rec, 3)) ||
	    copy_string(&p->kernel, datafile_string(&rec->rec, 4)))
		return -ENOMEM;
	return 0;
}

static void add_lost(struct profile_stats *s, const struct pcce_rec_lost *rec)
{
	s->lost += rec->count;
	s->lost_reasons[rec->reason <= PCCE_LOSS_SHAPE ? rec->reason : 0] += rec->count;
}

static int add_process(struct profile *p, const struct pcce_rec_process *rec)
{
	const char *name = datafile_string(&rec->rec, 0);
	uint32_t comm = symbol_table_intern(p->names, name);

	if (comm == UINT32_MAX || sample_streams_add_process(p->streams, rec, comm) ||
	    threads_add_process(p->threads, rec, name))
		return -ENOMEM;
	return address_spaces_add_process(p->in->spaces, rec);
}

static int add_thread(struct profile *p, const struct pcce_rec_thread *rec)
{
	const char *name = datafile_string(&rec->rec, 0);
	uint32_t comm = symbol_table_intern(p->names, name);

	if (comm == UINT32_MAX || sample_streams_add_thread(p->streams, rec, comm))
		return -ENOMEM;
	return threads_add_thread(p->threads, rec, name);
}

/* Streams and threads are those of samples. */
static int see_sample(struct profile *p, const struct pcce_record *rec)
{
	struct datafile_sample of;
	const struct pcce_sample *s;

	datafile_sample(rec, &of);
	s = of.sample;
	p->all_weight += of.weight;
	if (!p->all_samples)
		p->first = p->last = s->time;
	p->all_samples += of.samples;
	if (s->time < p->first)
		p->first = s->time;
	if (s->time > p->last)
		p->last = s->time;
	p->stats.sample_bytes += rec->size;
	if (sample_streams_of(p->streams, s->pid, s->tid, s->event) == UINT32_MAX ||
	    threads_number(p->threads, s->pid, s->tid) == UINT32_MAX)
		return -ENOMEM;
	return 0;
}

static int read_record(struct profile *p, const struct pcce_record *rec, const char *name,
		       struct error *why)
{
	struct profile_internals *in = p->in;

	switch (rec->type) {
	case PCCE_REC_INFO:
		return add_info(p, (const void *)rec);
	case PCCE_REC_PROCESS:
		return add_process(p, (const void *)rec);
	case PCCE_REC_THREAD:
		return add_thread(p, (const void *)rec);
	case PCCE_REC_MAP:
		if (symbol_table_add_map(p->names, (const void *)rec))
			return -ENOMEM;
		return address_spaces_add_map(in->spaces, (const void *)rec);
	case PCCE_REC_MODULE:
		return symbol_table_add_module(p->names, (const void *)rec,
					       datafile_string(rec, 0));
	case PCCE_REC_SYMBOL:
		return symbol_table_add_symbol(p->names, (const void *)rec, datafile_string(rec, 0),
					       datafile_string(rec, 1));
	case PCCE_REC_TABLE:
		return add_table(p, (const void *)rec, name, why);
	case PCCE_REC_SAMPLE:
	case PCCE_REC_SUM:
		return see_sample(p, rec);
	case PCCE_REC_LOST:
		add_lost(&p->stats, (const void *)rec);
		return 0;
	default:
		return 0;
	}
}

int profile_read(struct profile *p, struct datafile_reader *reader, const char *name,
		 struct error *why)
{
	uint64_t total = datafile_total(reader);
	const struct pcce_record *rec;
	int r;

	while ((r = datafile_next(reader, &rec)) > 0) {
		progress("reading", datafile_position(reader), total);
		r = read_record(p, rec, name, why);
		if (r)
			return r;
	}
	if (r < 0)
		return error_set(why, r, "%s", datafile_error(reader));
	p->complete = datafile_complete(reader);
	p->cut_off = datafile_dropped(reader);
	p->unknown = datafile_unknown(reader);
	if (symbol_table_finish(p->names) || address_spaces_finish(p->in->spaces) ||
	    sample_streams_finish(p->streams))
		return -ENOMEM;
	threads_finish(p->threads);
	return 0;
}
