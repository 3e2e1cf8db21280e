/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See names.h. */
#include <errno.h>
#include "stream/label_sets.h"
#include "stream/names.h"

static struct recording_names *names_of(struct stream *s)
{
	return (struct recording_names *)s;
}

static int collect_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	struct recording_names *n = names_of(s);
	uint32_t name = symbol_table_intern(n->names, comm);

	if (name == UINT32_MAX || sample_streams_add_process(n->streams, rec, name))
		return -ENOMEM;
	return stream_pass(s->next, process, rec, comm);
}

static int collect_thread(struct stream *s, const struct pcce_rec_thread *rec, const char *comm)
{
	struct recording_names *n = names_of(s);
	uint32_t name = symbol_table_intern(n->names, comm);

	if (name == UINT32_MAX || sample_streams_add_thread(n->streams, rec, name))
		return -ENOMEM;
	return stream_pass(s->next, thread, rec, comm);
}

static int collect_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		       const char *path)
{
	int r = symbol_table_add_map(names_of(s)->names, rec);

	return r ? r : stream_pass(s->next, map, rec, pgoff, path);
}

static int collect_module(struct stream *s, const struct pcce_rec_module *rec, const char *path)
{
	int r = symbol_table_add_module(names_of(s)->names, rec, path);

	return r ? r : stream_pass(s->next, module, rec, path);
}

static int collect_symbol(struct stream *s, const struct pcce_rec_symbol *rec, const char *function,
			  const char *file)
{
	int r = symbol_table_add_symbol(names_of(s)->names, rec, function, file);

	return r ? r : stream_pass(s->next, symbol, rec, function, file);
}

static int number_stream(struct stream *s, struct stream_event *e)
{
	const struct pcce_sample *of = e->sample;

	if (sample_streams_of(names_of(s)->streams, of->pid, of->tid, of->event,
			      label_sets_index(e->labels)) == UINT32_MAX)
		return -ENOMEM;
	return stream_pass(s->next, event, e);
}

const struct stream_ops recording_names_ops = {
	.process = collect_process,
	.thread = collect_thread,
	.map = collect_map,
	.module = collect_module,
	.symbol = collect_symbol,
	.event = number_stream,
};

int recording_names_finish(struct recording_names *n, const struct recording *r)
{
	for (uint32_t i = 0; i < r->n_modules; i++)
		if (recording_table(r, i) &&
		    symbol_table_set_table(n->names, i, recording_table(r, i)))
			return -ENOMEM;
	return symbol_table_finish(n->names) || sample_streams_finish(n->streams) ? -ENOMEM : 0;
}
