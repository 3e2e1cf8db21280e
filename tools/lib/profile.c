/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Three steps: first the whole file is read, since mappings, tables and symbols may
 * stand behind the samples that need them (profile_read.c); then samples are decoded
 * (profile_decode.c); then those that are selected are counted, and the tree of their
 * contexts is made.  The last can be done again with another selection.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/profile_internal.h"
#include "tools/lib/progress.h"
#include "tools/lib/verify.h"

int profile_fail(int code, char *why, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, size, format, args);
	va_end(args);
	return code;
}

static const struct table *table_of(void *ctx, uint32_t module)
{
	const struct profile *p = ctx;

	return names_table(p->names, module);
}

const char *profile_event(const struct profile *p, uint32_t event, char *buffer, size_t size)
{
	const char *at = p->event, *end;
	int depth;

	/* cpu/event=1,umask=2/ is one name */
	for (;; at = end + 1) {
		for (end = at, depth = 0; *end && (*end != ',' || depth); end++)
			depth ^= *end == '/';
		if (!event-- || !*end)
			break;
	}
	snprintf(buffer, size, "%.*s", (int)(end - at), at);
	return buffer;
}

/* ---- selecting ------------------------------------------------------------------- */

/* Which streams pass. NULL: no memory. */
static bool *select_streams(const struct profile *p, const struct selection *s)
{
	size_t n = streams_count(p->streams);
	bool *passes = calloc(n + 1, sizeof(*passes));
	char event[256], number[16];

	for (size_t i = 0; i < n && passes; i++) {
		const struct stream *t = streams_get(p->streams, i);

		snprintf(number, sizeof(number), "%u", t->event);
		passes[i] = select_number(&s->pids, t->pid) && select_number(&s->tids, t->tid) &&
			    select_word(&s->comms, names_string(p->names, t->comm)) &&
			    (select_word(&s->events, profile_event(p, t->event, event, sizeof(event))) ||
			     select_word(&s->events, number));
	}
	return passes;
}

/* On the encoding stack, also those that the sampler could not bring. */
static uint64_t stack_entries(const struct raw_sample *raw)
{
	return (uint64_t)raw->sample.n_below * PCCE_SEGMENT_ENTRIES + raw->sample.n_entries;
}

static void count_decoded(struct profile *p, struct decoded *d)
{
	struct profile_stats *s = &p->stats;
	uint64_t entries;

	s->samples++;
	switch ((enum decode_status)d->status) {
	case DECODE_EXACT:
		s->exact++;
		break;
	case DECODE_TRUNCATED:
		s->truncated++;
		break;
	case DECODE_OUTSIDE:
		s->outside++;
		break;
	case DECODE_UNDECODABLE:
		s->undecodable++;
		s->reasons[d->reason]++;
		break;
	}
	s->verified += d->verify == VERIFY_AGREES;
	s->mismatches += d->verify == VERIFY_MISMATCH;
	s->unverifiable += d->verify == VERIFY_UNVERIFIABLE;
	if (d->marked == p->in->selections || d->status == DECODE_OUTSIDE)
		return;
	d->marked = p->in->selections;
	if (d->depth > s->max_depth)
		s->max_depth = d->depth;
	entries = stack_entries(d->raw);
	if (entries > s->max_encoding_stack)
		s->max_encoding_stack = entries;
}

/* Forgets what was counted before. */
static int begin_count(struct profile *p)
{
	struct profile_stats *s = &p->stats;
	uint64_t lost[PCCE_LOSS_SHAPE + 1];

	memcpy(lost, s->lost_reasons, sizeof(lost));
	*s = (struct profile_stats){.lost = s->lost, .sample_bytes = s->sample_bytes, .verify = s->verify};
	memcpy(s->lost_reasons, lost, sizeof(lost));
	for (size_t i = 0; i < p->n_leaves; i++)
		p->leaves[i].weight = p->leaves[i].samples = 0;
	free(p->stream_samples);
	p->stream_samples = calloc(streams_count(p->streams) + 1, sizeof(*p->stream_samples));
	p->in->selections++;
	return p->stream_samples ? 0 : -ENOMEM;
}

/* some: not all may be selected. */
static int count_samples(struct profile *p, const struct selection *s, bool some, const uint8_t *keep)
{
	struct internals *in = p->in;
	const struct samples *all = &in->samples;
	bool *contexts = calloc((size_t)p->in->n_contexts + 1, 1), *passes = select_streams(p, s);
	int r = contexts && passes ? begin_count(p) : -ENOMEM;

	free(in->selected);
	in->selected = some ? malloc(all->n * sizeof(*in->selected) + 1) : NULL;
	in->n_selected = 0;
	if (some && !in->selected)
		r = -ENOMEM;
	for (size_t i = 0; i < all->n && !r; i++) {
		const struct sample *sample = &all->list[i];
		struct decoded *d = sample->decoded;
		struct leaf *leaf = &p->leaves[d->leaf];

		if (!passes[sample->stream] || (keep && !keep[leaf->base]) ||
		    (s->times.n && !select_time(&s->times, sample->time, p->first, p->last)))
			continue;
		if (some)
			in->selected[in->n_selected++] = i;
		leaf->weight += sample->weight;
		leaf->samples++;
		p->stream_samples[sample->stream]++;
		count_decoded(p, d);
		if (d->context && !contexts[d->context]) {
			contexts[d->context] = true;
			p->stats.unique_contexts++;
		}
	}
	free(contexts);
	free(passes);
	return r;
}

size_t profile_samples(const struct profile *p)
{
	return p->in->selected ? p->in->n_selected : p->in->samples.n;
}

struct profile_sample profile_sample(const struct profile *p, size_t i)
{
	const struct sample *s = &p->in->samples.list[p->in->selected ? p->in->selected[i] : i];
	const struct decoded *d = s->decoded;
	uint64_t entries = stack_entries(d->raw);

	return (struct profile_sample){
		.time = s->time,
		.depth = d->depth,
		.stream = s->stream,
		.thread = p->in->thread_of[s->stream],
		.node = p->leaves[d->leaf].node,
		.weight = s->weight,
		.entries = entries < UINT32_MAX ? entries : UINT32_MAX,
		.status = d->status,
		.reason = d->reason,
	};
}

/* The tree of all contexts becomes the profile's. */
static int take_all(struct profile *p)
{
	p->tree = p->in->all;
	p->in->all = (struct cct){0};
	for (size_t i = 0; i < p->n_leaves; i++) {
		p->tree.nodes[p->leaves[i].node].self += p->leaves[i].weight;
		p->tree.nodes[p->leaves[i].node].samples += p->leaves[i].samples;
	}
	return 0;
}

int profile_select(struct profile *p, const struct selection *s)
{
	struct internals *in = p->in;
	bool filtered = selection_has_samples(s) || selection_has_contexts(s);
	uint8_t *keep = NULL;
	int r = 0;

	if (in->has_tree && selection_has_contexts(s)) {
		keep = malloc(in->all.n);
		r = keep ? select_contexts(&in->all, p->names, s, keep) : -ENOMEM;
	}
	if (!r)
		r = count_samples(p, s, filtered, keep);
	free(keep);
	if (r || !in->has_tree)
		return r;
	cct_free(&p->tree);
	for (size_t i = 0; i < p->n_leaves; i++)
		p->leaves[i].node = p->leaves[i].base;
	if (in->again || filtered || selection_has_frames(s))
		r = select_tree(&in->all, p->names, s, p->leaves, p->n_leaves, &p->tree);
	else
		r = take_all(p);
	for (size_t i = 0; i < p->n_leaves; i++)
		if (!p->leaves[i].samples)
			p->leaves[i].node = UINT32_MAX;
	p->own_lines = s->by == BY_LINE;
	return r ? r : cct_finish(&p->tree, p->names);
}

int profile_detail(const struct profile *p, const struct selection *s, struct cct *to)
{
	struct leaf *leaves = malloc(p->n_leaves * sizeof(*leaves) + 1);
	int r = -ENOMEM;

	if (leaves) {
		for (size_t i = 0; i < p->n_leaves; i++) {
			leaves[i] = p->leaves[i];
			leaves[i].node = leaves[i].base;
		}
		r = select_tree(&p->in->all, p->names, s, leaves, p->n_leaves, to);
	}
	free(leaves);
	return r ? r : cct_finish(to, p->names);
}

/* ---- all together ---------------------------------------------------------------- */

static int load(struct profile *p, struct datafile_reader *reader, const char *name, const struct profile_options *o,
		char *why, size_t why_size)
{
	static const struct selection everything;
	int r;

	p->in = calloc(1, sizeof(*p->in));
	p->names = names_new(o->names);
	p->streams = streams_new();
	p->sampler = strdup("");
	p->event = strdup("");
	p->command = strdup("");
	p->host = strdup("");
	p->kernel = strdup("");
	if (!p->in || !p->names || !p->streams || !p->sampler || !p->event || !p->command || !p->host || !p->kernel ||
	    cct_init(&p->in->all))
		return -ENOMEM;
	p->in->has_tree = o->tree;
	p->in->again = o->again;
	p->in->spaces = spaces_new(table_of, p);
	if (!p->in->spaces)
		return -ENOMEM;
	r = profile_read(p, reader, name, why, why_size);
	if (!r && o->tree)
		r = profile_late_symbols(p);
	if (!r)
		r = profile_decode(p, o);
	return r ? r : profile_select(p, o->select ? o->select : &everything);
}

static int load_and_close(struct datafile_reader *reader, const char *name, const struct profile_options *o,
			  struct profile **out, char *why, size_t why_size)
{
	struct profile *p = calloc(1, sizeof(*p));
	int r;

	*why = 0;
	r = p ? load(p, reader, name, o, why, why_size) : -ENOMEM;
	progress_end();
	datafile_close(reader);
	if (r) {
		profile_free(p);
		if (r == -ENOMEM)
			profile_fail(r, why, why_size, "%s: out of memory while reading it", name);
		return r;
	}
	*out = p;
	return 0;
}

int profile_load(const char *path, const struct profile_options *o, struct profile **out, char *why, size_t why_size)
{
	struct datafile_reader *reader;
	int r = datafile_open(path, &reader, why, why_size);

	return r ? r : load_and_close(reader, path, o, out, why, why_size);
}

int profile_load_memory(const void *data, size_t size, const char *name, const struct profile_options *o,
			struct profile **out, char *why, size_t why_size)
{
	struct datafile_reader *reader;
	int r = datafile_open_memory(data, size, name, &reader, why, why_size);

	return r ? r : load_and_close(reader, name, o, out, why, why_size);
}

void profile_free(struct profile *p)
{
	struct internals *in;

	if (!p)
		return;
	in = p->in;
	if (in) {
		for (size_t i = 0; i < in->n_tables; i++) {
			table_close(&in->tables[i]->table);
			free(in->tables[i]->data);
			free(in->tables[i]);
		}
		spaces_free(in->spaces);
		samples_free(&in->samples);
		cct_free(&in->all);
		free(in->stack.entries);
		free(in->tables);
		free(in->decoded);
		free(in->thread_of);
		free(in->selected);
	}
	free(in);
	names_free(p->names);
	streams_free(p->streams);
	threads_free(&p->threads);
	cct_free(&p->tree);
	free(p->stream_samples);
	free(p->leaves);
	free(p->sampler);
	free(p->event);
	free(p->command);
	free(p->host);
	free(p->kernel);
	free(p);
}
