/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reads a recording for users of libpcce-decode.  The file is read twice: at opening for all but
 * the samples, since what samples need may follow them, and then sample by sample.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "api/context.h"
#include "stream/names.h"

struct pcce_decode_sample {
	const struct pcce_decode_context *context;
	uint64_t time, count, weight;
	uint32_t pid, tid, cpu;
	const char *thread, *event;
};

struct pcce_decode_recording {
	struct pcce_decode_context context;
	struct recording *recording;
	struct datafile_reader *reader; /* of the samples */
	struct sample_streams *streams;
	struct stack_store *segments;
	struct stack_store_flat stack;
	uint64_t lost;
	struct pcce_decode_sample sample;
};

/* ---- opening --------------------------------------------------------------------- */

static int load_all(struct pcce_decode_recording *r, const char *path, const void *data,
		    size_t size, struct error *why)
{
	struct recording_names names = {{&recording_names_ops, NULL}, r->context.names, NULL};
	int err;

	r->streams = sample_streams_new();
	r->segments = stack_store_new();
	if (!r->streams || !r->segments)
		return -ENOMEM;
	names.streams = r->streams;
	err = path ? recording_open(path, NULL, &names.stream, &r->recording, why)
		   : recording_open_memory(data, size, "the recording in memory", &names.stream,
					   &r->recording, why);
	err = err ? err : recording_names_finish(&names, r->recording);
	if (err)
		return err;
	for (uint32_t i = 0; i < RECORDING_ACCOUNTS; i++)
		for (uint32_t reason = 0; reason <= PCCE_LOSS_MAX; reason++)
			r->lost += r->recording->accounts[i].lost[reason];
	r->context.kernel = symbol_table_module(r->context.names, PCCE_MODULE_KERNEL);
	return recording_reader(r->recording, &r->reader, why);
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
	err = api_context_new(&r->context, flags, &reason);
	err = err ? err : load_all(r, path, data, size, &reason);
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
	sample_streams_free(r->streams);
	stack_store_free(r->segments);
	free(r->stack.entries);
	api_context_free(&r->context);
	recording_close(r->recording);
	free(r);
}

/* ---- samples --------------------------------------------------------------------- */

static const char *event_name(struct pcce_decode_recording *r, uint32_t event)
{
	char name[512];
	size_t length;
	const char *at = datafile_event(r->recording->event, event, &length);

	if (!at[length] && at == r->recording->event)
		return at;
	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, at, length);
	name[length] = 0;
	return symbol_table_string(r->context.names, symbol_table_intern(r->context.names, name));
}

static int decode_recorded(struct pcce_decode_recording *r, const struct stream_event *of)
{
	const struct pcce_sample *s = of->sample;
	const struct stack_node *below;
	uint32_t space = address_spaces_at(r->recording->spaces, s->pid, s->time),
		 stream = sample_streams_of(r->streams, s->pid, s->tid, s->event,
					    label_sets_index(of->labels));

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
	return api_context_decode(&r->context, address_spaces_get(r->recording->spaces, space), of,
				  r->stack.entries, r->stack.n);
}

int pcce_decode_recording_next(struct pcce_decode_recording *r,
			       const struct pcce_decode_sample **sample,
			       struct pcce_decode_error *why)
{
	const struct pcce_record *rec;
	const struct label_set *labels = NULL;
	struct stream_event s;
	struct error reason = {0};
	int err;

	*sample = NULL;
	do {
		err = datafile_next(r->reader, &rec);
		if (err > 0 && rec->type == PCCE_REC_LABELED)
			labels = recording_labels(r->recording, rec);
	} while (err > 0 && !recording_event(r->recording, rec, &s));
	if (!err)
		return 0;
	if (err < 0)
		return api_error(why, &reason,
				 error_set(&reason, err, "%s", datafile_error(r->reader)));
	s.labels = labels;
	if (decode_recorded(r, &s))
		return api_error(why, &reason, error_memory(&reason));
	*sample = &r->sample;
	return 1;
}

/* ---- questions ------------------------------------------------------------------- */

const char *pcce_decode_recording_command(const struct pcce_decode_recording *r)
{
	return r->recording->command;
}

const char *pcce_decode_recording_host(const struct pcce_decode_recording *r)
{
	return r->recording->host;
}

const char *pcce_decode_recording_sampler(const struct pcce_decode_recording *r)
{
	return r->recording->sampler;
}

int64_t pcce_decode_recording_epoch(const struct pcce_decode_recording *r)
{
	return (int64_t)(r->recording->info.wall_time - r->recording->info.start_time);
}

uint64_t pcce_decode_recording_frequency(const struct pcce_decode_recording *r)
{
	return r->recording->info.frequency;
}

uint64_t pcce_decode_recording_period(const struct pcce_decode_recording *r)
{
	return r->recording->info.period;
}

uint64_t pcce_decode_recording_lost(const struct pcce_decode_recording *r)
{
	return r->lost;
}

bool pcce_decode_recording_is_complete(const struct pcce_decode_recording *r)
{
	return r->recording->complete;
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
