/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See state.h. Stacks that nothing refers to are freed when there are many new segments. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/array.h"
#include "filter/state.h"
#include "sampler/places.h"

#define SWEEP_AFTER 4096 /* new segments */

/* A place of the sampler. */
struct claimed {
	struct pcce_sample *sample; /* the last that claimed it; its entries follow. NULL: none */
	const struct stack_node *below;
	uint32_t epoch;
	bool left_out;
};

static struct state *state_stage(struct stream *s)
{
	return (struct state *)s;
}

/* ---- processes ------------------------------------------------------------------- */

/* After a record that belongs to a process, whose epoch was `before`. If that has ended, the
 * sampler has to find out all classes of the process again. */
static void end_epoch(struct state *t, uint32_t pid, uint32_t before)
{
	const struct active_sampler *a = t->sampler;
	struct places *places = a->ops->places ? a->ops->places(a->sampler) : NULL;

	if (places && address_spaces_epoch(t->spaces, pid) != before)
		places_forget_classes(places, pid);
}

static int state_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	struct state *t = state_stage(s);
	uint32_t epoch = address_spaces_epoch(t->spaces, rec->pid);

	if (address_spaces_add_process(t->spaces, rec))
		return -ENOMEM;
	end_epoch(t, rec->pid, epoch);
	return stream_pass(s->next, process, rec, comm);
}

static int state_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		     const char *path)
{
	struct state *t = state_stage(s);
	uint32_t epoch = address_spaces_epoch(t->spaces, rec->pid);

	if (address_spaces_add_map(t->spaces, rec))
		return -ENOMEM;
	end_epoch(t, rec->pid, epoch);
	return stream_pass(s->next, map, rec, pgoff, path);
}

static int state_spoiled(struct stream *s, uint32_t pid)
{
	struct state *t = state_stage(s);
	uint32_t epoch = address_spaces_epoch(t->spaces, pid);

	address_spaces_end_epoch(t->spaces, pid);
	end_epoch(t, pid, epoch);
	return stream_pass(s->next, spoiled, pid);
}

/* ---- samples --------------------------------------------------------------------- */

static int sweep_stacks(struct state *t)
{
	int r;

	if (stack_store_count(t->stacks) < 2 * t->swept + SWEEP_AFTER)
		return 0;
	for (uint32_t i = 0; i < t->n_claimed; i++)
		stack_store_keep(t->claimed[i].below);
	r = stream_pass(t->stream.next, keep);
	stack_store_sweep(t->stacks);
	t->swept = stack_store_count(t->stacks);
	return r;
}

static int find_stack(struct state *t, struct stream_event *e)
{
	return sweep_stacks(t) || stack_store_take(t->stacks, e->sample, &e->below) ? -ENOMEM : 0;
}

/* Tells the classes that samples like this one need. */
static void tell_classes(struct state *t, const struct pcce_sample *s)
{
	struct places *places = t->sampler->ops->places(t->sampler->sampler);
	uint32_t epoch = address_spaces_epoch(t->spaces, s->pid);
	const struct decode_space *as;
	uint64_t layout, class;

	if (!places_has_class(places, s->pid, s->ip, epoch)) {
		as = address_spaces_now(t->spaces, s->pid, &layout);
		class = as ? context_keys_class(t->keys, as, s->ip) : 0;
		if (class)
			places_set_class(places, s->pid, s->ip, class, epoch);
	}
	if (t->kernel && s->kip && !places_has_class(places, 0, s->kip, 0))
		places_set_class(places, 0, s->kip, context_keys_kernel_class(t->keys, s->kip), 0);
}

static int note_claim(struct state *t, struct stream_event *e)
{
	const struct pcce_sample *s = e->sample;
	size_t size = sizeof(*s) + s->n_entries * sizeof(struct pcce_entry);
	uint32_t place = e->counting->place;
	struct pcce_sample *copy = malloc(size);

	if (!copy || array_reach(&t->claimed, &t->n_claimed, place, 64, sizeof(*t->claimed))) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, s, size);
	copy->n_segments = copy->n_stack = 0;
	free(t->claimed[place].sample);
	t->claimed[place] =
		(struct claimed){.sample = copy, .below = e->below, .epoch = e->counting->epoch};
	return 0;
}

static int state_event(struct stream *s, struct stream_event *e)
{
	struct state *t = state_stage(s);
	const struct sampler_counting *c = e->counting;
	int r = find_stack(t, e);

	if (!r && c)
		tell_classes(t, e->sample);
	if (c && c->place == PCCE_NO_PLACE)
		c = e->counting = NULL;
	if (!r && c)
		r = note_claim(t, e);
	r = r ? r : stream_pass(s->next, event, e);
	if (r != STREAM_LEFT_OUT)
		return r;
	if (c)
		t->claimed[c->place].left_out = true;
	if (c && t->refuse)
		places_refuse(t->sampler->ops->places(t->sampler->sampler), c->place, c->claim);
	return 0;
}

static int state_counted(struct stream *s, uint32_t place, uint64_t samples, uint64_t weight)
{
	struct state *t = state_stage(s);
	struct claimed *c = place < t->n_claimed ? &t->claimed[place] : NULL;
	struct stream_event e = {
		.samples = samples, .weight = weight, .aggregated = true, .repeated = true};
	int r;

	if (!c || !c->sample)
		return -EPROTO;
	if (address_spaces_epoch(t->spaces, c->sample->pid) != c->epoch)
		c->sample->flags |= PCCE_SAMPLE_MIXED;
	e.sample = c->sample;
	e.below = c->below;
	e.left_out = c->left_out;
	r = stream_pass(s->next, event, &e);
	return r == STREAM_LEFT_OUT ? 0 : r;
}

static int state_summary_event(struct stream *s, struct stream_event *e)
{
	int r = find_stack(state_stage(s), e);

	return r ? r : stream_pass(s->next, summary_event, e);
}

static void state_free(struct stream *s)
{
	struct state *t = state_stage(s);

	address_spaces_free(t->spaces);
	context_keys_free(t->keys);
	stack_store_free(t->stacks);
	for (uint32_t i = 0; i < t->n_claimed; i++)
		free(t->claimed[i].sample);
	free(t->claimed);
	free(t);
}

struct state *state_new(const struct record_modules *m, const struct active_sampler *sampler,
			bool kernel, bool refuse)
{
	static const struct stream_ops ops = {
		.process = state_process,
		.map = state_map,
		.spoiled = state_spoiled,
		.event = state_event,
		.counted = state_counted,
		.summary_event = state_summary_event,
		.free = state_free,
	};
	struct state *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->stream.ops = &ops;
	t->sampler = sampler;
	t->kernel = kernel;
	t->refuse = refuse;
	t->spaces = record_modules_spaces(m);
	t->keys = context_keys_new(m);
	t->stacks = stack_store_new();
	if (t->spaces && t->keys && t->stacks)
		return t;
	state_free(&t->stream);
	return NULL;
}
