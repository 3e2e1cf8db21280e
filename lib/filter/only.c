/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See only.h. */
#include <errno.h>
#include <stdlib.h>
#include "base/clock.h"
#include "filter/context_filter.h"
#include "filter/only.h"

struct only {
	struct stream stream;
	const char *text;
	const struct record_modules *modules;
	const struct expression *e;
	struct context_filter *filter;
	struct address_spaces *spaces;
	struct stack_store *stacks;
	struct only_counts {
		uint64_t unknown; /* of those that are kept */
		uint64_t left_out, left_out_weight;
	} counts, written;
};

static struct only *only_of(struct stream *s)
{
	return (struct only *)s;
}

/* ---- samples --------------------------------------------------------------------- */

static int leave_out(struct only *o, struct stream_event *e)
{
	o->counts.left_out += e->samples;
	o->counts.left_out_weight += e->weight;
	return STREAM_LEFT_OUT;
}

static int only_event(struct stream *s, struct stream_event *e)
{
	struct only *o = only_of(s);
	const struct decode_space *as;
	enum filter_answer answer;
	uint64_t layout;

	as = address_spaces_now(o->spaces, e->sample->pid, &layout);
	if (!as || context_filter_ask(o->filter, as, layout, e->sample, e->below, &answer))
		return -ENOMEM;
	if (answer == FILTER_NO)
		return leave_out(o, e);
	o->counts.unknown += answer == FILTER_UNKNOWN ? e->samples : 0;
	return stack_store_complete(o->stacks, e->sample, &e->sample)
		       ? -ENOMEM
		       : stream_pass(s->next, event, e);
}

/* ---- the beginning and the end --------------------------------------------------- */

/* Writes what was left out since the last time. */
static int write_only(struct only *o)
{
	struct pcce_rec_only rec = {
		.time = clock_ns(CLOCK_MONOTONIC),
		.unknown = o->counts.unknown - o->written.unknown,
		.left_out = o->counts.left_out - o->written.left_out,
		.left_out_weight = o->counts.left_out_weight - o->written.left_out_weight,
	};

	o->written = o->counts;
	return stream_pass(o->stream.next, record, PCCE_REC_ONLY, &rec, sizeof(rec), &o->text, 1);
}

/* A recording that is cut off says that samples are left out, too. */
static int only_record(struct stream *s, uint32_t type, const void *rec, size_t size,
		       const char *const *strings, int n_strings)
{
	int r = stream_pass(s->next, record, type, rec, size, strings, n_strings);

	return r || type != PCCE_REC_INFO ? r : write_only(only_of(s));
}

static int only_window(struct stream *s)
{
	int r = write_only(only_of(s));

	return r ? r : stream_pass(s->next, window);
}

static int only_end(struct stream *s)
{
	int r = write_only(only_of(s));

	return r ? r : stream_pass(s->next, end);
}

void only_explain(struct stream *s, bool kept, char *text, size_t size)
{
	struct only_facts facts;

	context_filter_facts(only_of(s)->filter, &facts);
	only_reason(only_of(s)->modules, only_of(s)->e, &facts, kept, text, size);
}

static void only_free(struct stream *s)
{
	struct only *o = only_of(s);

	context_filter_free(o->filter);
	free(o);
}

struct stream *only_new(const struct record_modules *m, struct address_spaces *spaces,
			struct stack_store *stacks, const struct expression *e, const char *text)
{
	static const struct stream_ops ops = {.event = only_event,
					      .record = only_record,
					      .window = only_window,
					      .end = only_end,
					      .free = only_free};
	struct only *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->stream.ops = &ops;
	o->text = text;
	o->modules = m;
	o->e = e;
	o->spaces = spaces;
	o->stacks = stacks;
	o->filter = context_filter_new(m, e);
	if (o->filter)
		return &o->stream;
	free(o);
	return NULL;
}
