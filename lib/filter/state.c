/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See state.h. */
#include <errno.h>
#include <stdlib.h>
#include "filter/state.h"

#define SWEEP_AFTER 4096 /* new segments */

static struct state *state_stage(struct stream *s)
{
	return (struct state *)s;
}

static int state_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	return address_spaces_add_process(state_stage(s)->spaces, rec)
		       ? -ENOMEM
		       : stream_pass(s->next, process, rec, comm);
}

static int state_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		     const char *path)
{
	return address_spaces_add_map(state_stage(s)->spaces, rec)
		       ? -ENOMEM
		       : stream_pass(s->next, map, rec, pgoff, path);
}

static int sweep_stacks(struct state *t)
{
	int r;

	if (stack_store_count(t->stacks) < 2 * t->swept + SWEEP_AFTER)
		return 0;
	r = stream_pass(t->stream.next, keep);
	stack_store_sweep(t->stacks);
	t->swept = stack_store_count(t->stacks);
	return r;
}

static int find_stack(struct state *t, struct stream_event *e)
{
	return sweep_stacks(t) || stack_store_take(t->stacks, e->sample, &e->below) ? -ENOMEM : 0;
}

static int state_event(struct stream *s, struct stream_event *e)
{
	int r = find_stack(state_stage(s), e);

	r = r ? r : stream_pass(s->next, event, e);
	return r == STREAM_LEFT_OUT ? 0 : r;
}

static int state_summary_event(struct stream *s, struct stream_event *e)
{
	int r = find_stack(state_stage(s), e);

	return r ? r : stream_pass(s->next, summary_event, e);
}

static int state_ended(struct stream *s, uint32_t pid, uint32_t tid, bool process)
{
	struct state *t = state_stage(s);

	stack_store_end_thread(t->stacks, pid, tid);
	if (process)
		address_spaces_end(t->spaces, pid);
	return stream_pass(s->next, ended, pid, tid, process);
}

static int state_window(struct stream *s)
{
	struct state *t = state_stage(s);
	int r = stream_pass(s->next, window);

	stack_store_begin_window(t->stacks);
	address_spaces_sweep(t->spaces);
	return r;
}

static void state_free(struct stream *s)
{
	struct state *t = state_stage(s);

	address_spaces_free(t->spaces);
	context_keys_free(t->keys);
	stack_store_free(t->stacks);
	free(t);
}

struct state *state_new(const struct record_modules *m)
{
	static const struct stream_ops ops = {
		.process = state_process,
		.map = state_map,
		.event = state_event,
		.summary_event = state_summary_event,
		.ended = state_ended,
		.window = state_window,
		.free = state_free,
	};
	struct state *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->stream.ops = &ops;
	t->spaces = record_modules_spaces(m);
	t->keys = context_keys_new(m);
	t->stacks = stack_store_new();
	if (t->spaces && t->keys && t->stacks)
		return t;
	state_free(&t->stream);
	return NULL;
}
