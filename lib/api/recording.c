/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads a recording for users of libpcce-decode.  The file is read twice: at opening for all but
 * the samples, since what samples need may follow them, and then sample by sample.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "api/context.h"
#include "base/array.h"
#include "base/temp_file.h"
#include "recording/address_space.h"
#include "recording/reader.h"
#include "recording/sample_streams.h"
#include "recording/stack_store.h"

struct recorded_table {
	void *data;
	struct encoding_table table;
};

struct pcce_decode_sample {
	const struct pcce_decode_context *context;
	uint64_t time, count, weight;
	uint32_t pid, tid, cpu;
	const char *thread, *event;
};

struct pcce_decode_recording {
	struct pcce_decode_context context;
	struct temp_file file; /* path NULL: memory */
	const void *data;
	size_t size;
	const char *name; /* of the file, for messages; owned by names */
	struct datafile_reader *reader;
	struct address_spaces *spaces;
	struct sample_streams *streams;
	struct stack_store *segments;
	struct stack_store_flat stack;
	struct recorded_table **tables;
	size_t n_tables;
	const char *sampler, *command, *host, *events; /* strings of the names */
	int64_t epoch;
	uint64_t frequency, period, lost;
	bool complete;
	struct pcce_decode_sample sample;
};

/* ---- all but the samples --------------------------------------------------------- */

static const struct encoding_table *recorded_table_of(void *ctx, uint32_t module)
{
	const struct pcce_decode_recording *r = ctx;

	return symbol_table_table(r->context.names, module);
}

static int load_table(struct pcce_decode_recording *r, const struct pcce_rec_table *rec,
		      struct error *why)
{
	struct symbol_table *names = r->context.names;
	struct error reason = {0};
	struct recorded_table *t;
	size_t size;
	const void *data = datafile_table(rec, &size);
	int err;

	if (array_grow(&r->tables, r->n_tables, sizeof(struct recorded_table *)))
		return -ENOMEM;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	r->tables[r->n_tables++] = t;
	t->data = malloc(size + 1);
	if (!t->data)
		return -ENOMEM;
	memcpy(t->data, data, size);
	err = encoding_table_open(t->data, size, &t->table, &reason);
	if (err == -EINVAL)
		return error_set(why, err,
				 "cannot read %s: the encoding table of %s in it %s; record again "
				 "with a pcce of one version",
				 r->name, symbol_table_path(names, rec->module), reason.text);
	return err ? err : symbol_table_set_table(names, rec->module, &t->table);
}

static int load_string(struct pcce_decode_recording *r, const struct pcce_record *rec,
		       unsigned int i, const char **to)
{
	uint32_t string = symbol_table_intern(r->context.names, datafile_string(rec, i));

	*to = symbol_table_string(r->context.names, string);
	return string == UINT32_MAX ? -ENOMEM : 0;
}

static int load_info(struct pcce_decode_recording *r, const struct pcce_rec_info *rec)
{
	r->epoch = (int64_t)(rec->wall_time - rec->start_time);
	r->frequency = rec->frequency;
	r->period = rec->period;
	if (load_string(r, &rec->rec, 0, &r->sampler) || load_string(r, &rec->rec, 1, &r->events) ||
	    load_string(r, &rec->rec, 2, &r->command) || load_string(r, &rec->rec, 3, &r->host))
		return -ENOMEM;
	return 0;
}

static int load_process(struct pcce_decode_recording *r, const struct pcce_rec_process *rec)
{
	uint32_t comm = symbol_table_intern(r->context.names, datafile_string(&rec->rec, 0));

	if (comm == UINT32_MAX || sample_streams_add_process(r->streams, rec, comm))
		return -ENOMEM;
	return address_spaces_add_process(r->spaces, rec);
}

static int load_thread(struct pcce_decode_recording *r, const struct pcce_rec_thread *rec)
{
	uint32_t comm = symbol_table_intern(r->context.names, datafile_string(&rec->rec, 0));

	return comm == UINT32_MAX ? -ENOMEM : sample_streams_add_thread(r->streams, rec, comm);
}

static uint32_t stream_of(struct pcce_decode_recording *r, const struct pcce_sample *s)
{
	return sample_streams_of(r->streams, s->pid, s->tid, s->event);
}

static int load_record(struct pcce_decode_recording *r, const struct pcce_record *rec,
		       struct error *why)
{
	struct symbol_table *names = r->context.names;
	struct datafile_sample s;

	switch (rec->type) {
	case PCCE_REC_INFO:
		return load_info(r, (const void *)rec);
	case PCCE_REC_PROCESS:
		return load_process(r, (const void *)rec);
	case PCCE_REC_THREAD:
		return load_thread(r, (const void *)rec);
	case PCCE_REC_MAP:
		if (symbol_table_add_map(names, (const void *)rec))
			return -ENOMEM;
		return address_spaces_add_map(r->spaces, (const void *)rec);
	case PCCE_REC_MODULE:
		return symbol_table_add_module(names, (const void *)rec, datafile_string(rec, 0));
	case PCCE_REC_SYMBOL:
		return symbol_table_add_symbol(names, (const void *)rec, datafile_string(rec, 0),
					       datafile_string(rec, 1));
	case PCCE_REC_TABLE:
		return load_table(r, (const void *)rec, why);
	case PCCE_REC_LOST:
		r->lost += ((const struct pcce_rec_lost *)rec)->count;
		return 0;
	default:
		if (!datafile_sample(rec, &s))
			return 0;
		return stream_of(r, s.sample) == UINT32_MAX ? -ENOMEM : 0;
	}
}

static int load_records(struct pcce_decode_recording *r, struct error *why)
{
	const struct pcce_record *rec;
	int err;

	while ((err = datafile_next(r->reader, &rec)) > 0) {
		err = load_record(r, rec, why);
		if (err)
			return err;
	}
	if (err)
		return error_set(why, err, "%s", datafile_error(r->reader));
	r->complete = datafile_complete(r->reader);
	r->context.kernel = symbol_table_module(r->context.names, PCCE_MODULE_KERNEL);
	if (symbol_table_finish(r->context.names) || address_spaces_finish(r->spaces) ||
	    sample_streams_finish(r->streams))
		return -ENOMEM;
	return 0;
}

/* ---- opening --------------------------------------------------------------------- */

static int open_reader(struct pcce_decode_recording *r, struct error *why)
{
	datafile_close(r->reader);
	r->reader = NULL;
	if (r->file.path)
		return datafile_open_as(r->file.path, r->name, &r->reader, why);
	return datafile_open_memory(r->data, r->size, r->name, &r->reader, why);
}

static int load_all(struct pcce_decode_recording *r, const char *path, struct error *why)
{
	const char *name = path ? path : "the recording in memory";
	int err;

	r->sampler = r->command = r->host = r->events = "";
	r->spaces = address_spaces_new(recorded_table_of, r);
	r->streams = sample_streams_new();
	r->segments = stack_store_new();
	r->name =
		symbol_table_string(r->context.names, symbol_table_intern(r->context.names, name));
	if (!r->spaces || !r->streams || !r->segments || !*r->name)
		return -ENOMEM;
	if (path) {
		err = temp_file_open(r->name, &r->file, why);
		if (err)
			return err;
	}
	err = open_reader(r, why);
	err = err ? err : load_records(r, why);
	return err ? err : open_reader(r, why);
}

static int open_recording(const char *path, const void *data, size_t size, uint64_t flags,
			  struct pcce_decode_recording **out, struct pcce_decode_error *why)
{
	struct pcce_decode_recording *r = calloc(1, sizeof(*r));
	struct error reason = {0};
	int err;

	*out = NULL;
	if (!r)
		return api_error(why, &reason, error_memory(&reason));
	r->file.fd = -1;
	r->data = data;
	r->size = size;
	err = api_context_new(&r->context, flags, &reason);
	err = err ? err : load_all(r, path, &reason);
	if (!err) {
		*out = r;
		return 0;
	}
	pcce_decode_recording_close(r);
	if (err == -ENOMEM)
		error_memory(&reason);
	return api_error(why, &reason, err);
}

int pcce_decode_recording_open(const char *path, uint64_t flags,
			       struct pcce_decode_recording **recording,
			       struct pcce_decode_error *why)
{
	return open_recording(path, NULL, 0, flags, recording, why);
}

int pcce_decode_recording_open_memory(const void *data, size_t size, uint64_t flags,
				      struct pcce_decode_recording **recording,
				      struct pcce_decode_error *why)
{
	struct error reason = {0};

	*recording = NULL;
	if ((uintptr_t)data % 8)
		return api_error(why, &reason,
				 error_set(&reason, -EINVAL,
					   "cannot read the recording in memory: its address is no "
					   "multiple of 8"));
	return open_recording(NULL, data, size, flags, recording, why);
}

void pcce_decode_recording_close(struct pcce_decode_recording *r)
{
	if (!r)
		return;
	datafile_close(r->reader);
	temp_file_close(&r->file);
	address_spaces_free(r->spaces);
	sample_streams_free(r->streams);
	stack_store_free(r->segments);
	free(r->stack.entries);
	for (size_t i = 0; i < r->n_tables; i++) {
		encoding_table_close(&r->tables[i]->table);
		free(r->tables[i]->data);
		free(r->tables[i]);
	}
	free(r->tables);
	api_context_free(&r->context);
	free(r);
}

/* ---- samples --------------------------------------------------------------------- */

static const char *event_name(struct pcce_decode_recording *r, uint32_t event)
{
	char name[512];
	size_t length;
	const char *at = datafile_event(r->events, event, &length);

	if (!at[length] && at == r->events)
		return at;
	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, at, length);
	name[length] = 0;
	return symbol_table_string(r->context.names, symbol_table_intern(r->context.names, name));
}

static int decode_recorded(struct pcce_decode_recording *r, const struct datafile_sample *of)
{
	const struct pcce_sample *s = of->sample;
	const struct stack_node *below;
	uint32_t space = address_spaces_at(r->spaces, s->pid, s->time), stream = stream_of(r, s);

	if (space == UINT32_MAX || stream == UINT32_MAX ||
	    stack_store_take(r->segments, s, &below) || stack_store_flatten(below, s, &r->stack))
		return -ENOMEM;
	stream = sample_streams_at(r->streams, stream, s->time);
	r->sample = (struct pcce_decode_sample){
		.context = &r->context,
		.time = s->time,
		.count = of->samples,
		.weight = of->weight,
		.pid = s->pid,
		.tid = s->tid,
		.cpu = s->cpu,
		.thread = symbol_table_string(r->context.names,
					      sample_streams_get(r->streams, stream)->comm),
		.event = event_name(r, s->event),
	};
	return api_context_decode(&r->context, address_spaces_get(r->spaces, space), s,
				  r->stack.entries, r->stack.n);
}

int pcce_decode_recording_next(struct pcce_decode_recording *r,
			       const struct pcce_decode_sample **sample,
			       struct pcce_decode_error *why)
{
	const struct pcce_record *rec;
	struct datafile_sample s;
	struct error reason = {0};
	int err;

	*sample = NULL;
	do {
		err = datafile_next(r->reader, &rec);
	} while (err > 0 && !datafile_sample(rec, &s));
	if (!err)
		return 0;
	if (err < 0)
		return api_error(why, &reason,
				 error_set(&reason, err, "%s", datafile_error(r->reader)));
	if (decode_recorded(r, &s))
		return api_error(why, &reason, error_memory(&reason));
	*sample = &r->sample;
	return 1;
}

/* ---- questions ------------------------------------------------------------------- */

const char *pcce_decode_recording_command(const struct pcce_decode_recording *r)
{
	return r->command;
}

const char *pcce_decode_recording_host(const struct pcce_decode_recording *r)
{
	return r->host;
}

const char *pcce_decode_recording_sampler(const struct pcce_decode_recording *r)
{
	return r->sampler;
}

int64_t pcce_decode_recording_epoch(const struct pcce_decode_recording *r)
{
	return r->epoch;
}

uint64_t pcce_decode_recording_frequency(const struct pcce_decode_recording *r)
{
	return r->frequency;
}

uint64_t pcce_decode_recording_period(const struct pcce_decode_recording *r)
{
	return r->period;
}

uint64_t pcce_decode_recording_lost(const struct pcce_decode_recording *r)
{
	return r->lost;
}

bool pcce_decode_recording_is_complete(const struct pcce_decode_recording *r)
{
	return r->complete;
}

const struct pcce_decode_context *pcce_decode_sample_context(const struct pcce_decode_sample *s)
{
	return s->context;
}

uint64_t pcce_decode_sample_time(const struct pcce_decode_sample *s)
{
	return s->time;
}

uint32_t pcce_decode_sample_pid(const struct pcce_decode_sample *s)
{
	return s->pid;
}

uint32_t pcce_decode_sample_tid(const struct pcce_decode_sample *s)
{
	return s->tid;
}

uint32_t pcce_decode_sample_cpu(const struct pcce_decode_sample *s)
{
	return s->cpu;
}

const char *pcce_decode_sample_thread(const struct pcce_decode_sample *s)
{
	return s->thread;
}

const char *pcce_decode_sample_event(const struct pcce_decode_sample *s)
{
	return s->event;
}

uint64_t pcce_decode_sample_count(const struct pcce_decode_sample *s)
{
	return s->count;
}

uint64_t pcce_decode_sample_weight(const struct pcce_decode_sample *s)
{
	return s->weight;
}
