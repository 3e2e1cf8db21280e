/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Loads a recording into a profile in two passes. The first (read.c) reads all records but samples:
 * mappings, tables and symbols may follow the samples that need them. The second (decode_pass.c)
 * decodes the samples in the order of the file.
 *
 * If the caller wants all samples, and once, the second pass adds up their weights and keeps no
 * sample. Otherwise it keeps them (samples.c). Then, when all contexts are known, select.c adds up
 * the selected ones and builds the tree of their contexts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "profile/profile_internal.h"
#include "base/progress.h"
#include "decode/verify.h"
#include "symbols/short_names.h"

/* ---- samples --------------------------------------------------------------------- */

struct taking {
	struct profile *p;
	struct decode_cache *lines; /* NULL: does not tell lines of innermost functions apart */
	struct due {		    /* the last samples, not in the totals yet */
		uint32_t instruction;
		struct profile_sum sum;
	} due[PROFILE_AHEAD];
	size_t n_due;
	uint32_t pid, tid, origin; /* the thread and origin noted last */
};

static int note_state(void *ctx, const struct decode_cache_sample *s, uint32_t space,
		      const struct decode_cache_meaning *m, const struct decode_context *context)
{
	struct profile *p = ((struct taking *)ctx)->p;

	if (m->status != DECODE_OUTSIDE && m->status != DECODE_UNKEPT && !p->in->kept) {
		if (context->depth > p->stats.max_depth)
			p->stats.max_depth = context->depth;
		if (m->status != DECODE_UNDECODABLE && m->entries > p->stats.max_encoding_stack)
			p->stats.max_encoding_stack = m->entries;
	}
	if (m->verify != VERIFY_MISMATCH && m->status != DECODE_UNDECODABLE)
		return 0;
	return profile_keep_failure(p->in, s, space, m->verify == VERIFY_MISMATCH, m->reason);
}

static int add_instruction(void *ctx, const struct decode_cache_meaning *m)
{
	const struct taking *t = ctx;

	return profile_keep_instruction(t->p, m, t->lines);
}

/* Most totals are not in the processor's cache, so take_decoded() prefetches each some samples
 * before it is needed. */
static void add_due(struct taking *t, struct due *due)
{
	struct profile_sum *total = &t->p->in->totals[due->instruction];

	total->samples += due->sum.samples;
	total->weight += due->sum.weight;
	total->error += due->sum.error;
}

/* Most samples come from the same thread as the one before. */
static int note_origin(struct taking *t, const struct pcce_sample *s, uint32_t origin)
{
	uint32_t thread;

	if (!origin || (t->pid == s->pid && t->tid == s->tid && t->origin == origin))
		return 0;
	t->pid = s->pid;
	t->tid = s->tid;
	t->origin = origin;
	thread = threads_number(t->p->threads, s->pid, s->tid);
	if (thread == UINT32_MAX)
		return -ENOMEM;
	threads_set_origin(t->p->threads, thread, origin);
	return 0;
}

static int take_decoded(void *ctx, const struct stream_event *of, uint32_t instruction)
{
	struct taking *t = ctx;
	const struct pcce_sample *s = of->sample;
	struct profile *p = t->p;
	struct due *due = &t->due[t->n_due % PROFILE_AHEAD];
	uint32_t stream;

	if (thread_origins_count(p->origins) &&
	    note_origin(t, s, p->in->instructions[instruction].origin))
		return -ENOMEM;
	if (p->in->kept) {
		stream = sample_streams_at(p->streams,
					   sample_streams_of(p->streams, s->pid, s->tid, s->event,
							     label_sets_index(of->labels)),
					   s->time);
		return profile_keep(p->in, instruction, stream, of);
	}
	profile_weigh(&p->stats, of->samples, of->weight);
	if (t->n_due++ >= PROFILE_AHEAD)
		add_due(t, due);
	*due = (struct due){instruction, {of->samples, of->weight, of->error}};
	__builtin_prefetch(&p->in->totals[instruction], 1);
	return 0;
}

/* If no samples are kept, the totals go into the statistics and the tree. */
static int end_samples(void *ctx)
{
	struct taking *t = ctx;
	struct profile_internals *in = t->p->in;

	if (in->kept)
		return profile_link_waits(t->p, t->lines);
	for (size_t i = 0; i < PROFILE_AHEAD && i < t->n_due; i++)
		add_due(t, &t->due[i]);
	for (size_t i = 0; i < in->n_instructions; i++) {
		const struct profile_instruction *at = &in->instructions[i];

		profile_count(&t->p->stats, at, in->totals[i].samples);
		if (in->has_tree) {
			in->all.nodes[at->node].self += in->totals[i].weight;
			in->all.nodes[at->node].samples += in->totals[i].samples;
			in->all.nodes[at->node].error += in->totals[i].error;
		}
	}
	free(in->instructions);
	free(in->totals);
	in->instructions = NULL;
	in->totals = NULL;
	in->n_instructions = 0;
	return 0;
}

/* A thread has several streams: one for each event and each of its names. */
int profile_number_threads(struct profile *p)
{
	size_t n = sample_streams_count(p->streams);

	p->in->thread_of = malloc(n * sizeof(*p->in->thread_of) + 1);
	if (!p->in->thread_of)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct sample_stream *s = sample_streams_get(p->streams, i);

		p->in->thread_of[i] = threads_number(p->threads, s->pid, s->tid);
	}
	return 0;
}

/* ---- all together ---------------------------------------------------------------- */

int profile_prepare(struct profile *p, const struct profile_options *o, const struct selection *s)
{
	p->in = calloc(1, sizeof(*p->in));
	p->names = symbol_table_new(o->names);
	p->streams = sample_streams_new();
	if (!p->in || !p->names || !p->streams || cct_init(&p->in->all))
		return -ENOMEM;
	p->in->has_tree = o->tree;
	p->in->again = o->again;
	p->in->inlining = o->inlining;
	p->in->with_cost = o->cost;
	p->in->all_events = o->all_events;
	p->in->by_label = o->by_label;
	p->in->all_time = o->all_time;
	p->in->link_waits = o->holders && o->tree;
	p->in->kept = p->in->link_waits || o->again || o->samples || o->lines ||
		      selection_has_samples(s) || selection_has_contexts(s) ||
		      selection_has_frames(s);
	p->threads = threads_new(p->names);
	return p->threads ? 0 : -ENOMEM;
}

/* Adds the symbols that this machine has and the recording lacks. */
static int find_late_symbols(struct profile *p, struct error *why)
{
	struct decode_cache_sink sink = late_sink;
	struct late_symbols *late;
	size_t n = 0;
	int r = late_symbols_begin(p, &late), end;

	if (r || !late)
		return r;
	sink.ctx = late;
	r = profile_decode(p, NULL, true, &sink, &n, "looking for symbols", why);
	end = late_symbols_end(late, p->in->places, r ? 0 : n);
	return r ? r : end;
}

static int read_samples(struct profile *p, const struct profile_options *o, struct error *why)
{
	struct taking taking = {.p = p};
	struct decode_cache_sink sink = {.met = note_state,
					 .meaning = add_instruction,
					 .sample = take_decoded,
					 .end = end_samples,
					 .ctx = &taking};
	struct tree_builder *b =
		o->tree ? tree_builder_new(&p->in->all, p->names, o->inlining) : NULL;
	size_t n_places;
	int r;

	if (b && o->no_kernel)
		tree_builder_leave_out_kernel(b);
	if (o->lines && o->tree)
		sink.decoding = &taking.lines;
	r = o->tree && !b ? -ENOMEM
			  : profile_decode(p, b, o->origins, &sink, &n_places, "decoding", why);
	tree_builder_free(b);
	cct_settle(&p->in->all);
	profile_settle(p->in);
	p->stats.unique_contexts = p->in->n_contexts;
	return r;
}

int profile_shorten_names(struct profile *p)
{
	const struct cct *trees[] = {&p->in->all, thread_origins_tree(p->origins)};
	uint32_t *names = NULL;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		for (uint32_t k = 0; !r && trees[i]->n && k < cct_key_count(trees[i]); k++) {
			r = array_grow(&names, n, sizeof(*names));
			if (!r)
				names[n++] = cct_key(trees[i], k)->name;
		}
	}
	r = r ? r : short_names_choose(p->names, names, n);
	free(names);
	return r;
}

static int load_profile(struct profile *p, const char *path, const struct profile_options *o,
			struct error *why)
{
	static const struct selection everything;
	const struct selection *selection = o->select ? o->select : &everything;
	int r = profile_prepare(p, o, selection);

	r = r ? r : profile_read(p, path, why);
	if (!r) {
		p->in->kept |= p->n_events > 1;
		profile_show_events(p, selection);
	}
	if (!r && o->tree)
		r = find_late_symbols(p, why);
	r = r ? r : read_samples(p, o, why);
	if (p->in && p->in->recording)
		recording_end_samples(p->in->recording);
	r = r ? r : profile_number_threads(p);
	if (!r && o->tree)
		r = profile_shorten_names(p);
	if (r)
		return r;
	if (p->in->kept)
		return profile_select(p, selection);
	p->tree = p->in->all;
	p->in->all = (struct cct){0};
	return o->tree ? profile_finish_tree(p) : 0;
}

int profile_load(const char *path, const struct profile_options *o, struct profile **out,
		 struct error *why)
{
	struct profile *p = calloc(1, sizeof(*p));
	int r;

	*why = (struct error){0};
	r = p ? load_profile(p, path, o, why) : -ENOMEM;
	progress_end();
	if (r) {
		profile_free(p);
		if (r == -ENOMEM)
			error_set(why, r, "cannot read %s: out of memory", path);
		return r;
	}
	*out = p;
	return 0;
}
