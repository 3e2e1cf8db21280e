/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See chain.h. */
#include <errno.h>
#include <string.h>

#include "filter/carriers.h"
#include "filter/disk_room.h"
#include "filter/frames.h"
#include "filter/hot.h"
#include "filter/only.h"
#include "filter/stack_pointers.h"
#include "filter/state.h"
#include "filter/windows.h"
#include "record/chain.h"
#include "stream/event_writer.h"

static void add_stage(struct chain *c, struct stream *stage)
{
	struct stream **end = &c->first;

	c->incomplete |= !stage;
	while (*end)
		end = &(*end)->next;
	*end = stage;
}

static void add_hot(struct chain *c, const struct chain_config *config, const struct state *state,
		    struct error *why)
{
	const struct record_options *o = config->options;
	bool lossy = o->engine && !strcmp(o->engine, "lossy");
	struct stream *hot = hot_new(config->writer, state->spaces, state->keys, o->hot, lossy);

	if (!hot)
		error_set(why, -ENOMEM,
			  "cannot keep the %zu counters of --hot: out of memory; use a larger "
			  "EPSILON",
			  2 * hot_counters(o->hot->epsilon));
	add_stage(c, hot);
}

int chain_build(struct chain *c, const struct chain_config *config, struct error *why)
{
	static const struct sampler_ops no_ops;
	static const struct active_sampler no_sampler = {&no_ops, NULL};
	static struct state no_state;
	const struct record_options *o = config->options;
	const struct active_sampler *sampler = config->sampler ? config->sampler : &no_sampler;
	struct record_modules *m = config->modules;
	struct state *state = &no_state;

	*why = (struct error){0};
	if (o->sampled)
		add_stage(c, disk_room_new(config->writer, config->fd, sampler));
	add_stage(c, record_modules_stage(m));
	if (!c->incomplete)
		add_stage(c, stack_pointers_new(m));
	if (config->watch)
		add_stage(c, config->watch);
	if (o->only || o->hot || config->frames.which || o->waits || o->windows.each ||
	    config->end) {
		state = state_new(m);
		add_stage(c, (struct stream *)state);
	}
	/* --only completes what it keeps, and --hot writes whole stacks. */
	if ((o->waits || o->windows.each) && !c->incomplete)
		add_stage(c, carriers_new(o->only || o->hot || config->end ? NULL : state->stacks));
	if (config->sampler && !c->incomplete) {
		c->accounts = accounts_new(sampler, o->sampled ? 2 : o->count ? 1 : o->n_events);
		add_stage(c, (struct stream *)c->accounts);
	}
	if (o->only && !c->incomplete)
		add_stage(c, c->only = only_new(m, state->spaces, state->stacks, o->only,
						o->only_text));
	if (o->hot && !c->incomplete)
		add_hot(c, config, state, why);
	if (!o->hot && !c->incomplete)
		add_stage(c, frames_new(&config->frames, m, state->spaces, sampler));
	if (o->windows.each && !c->incomplete)
		add_stage(c, c->windows = windows_new(config->writer, m, state->spaces));
	else
		add_stage(c, config->end ? config->end : event_writer_new(config->writer));
	if (c->incomplete && !*why->text)
		error_set(why, -ENOMEM, "out of memory");
	return c->incomplete ? -ENOMEM : 0;
}

void chain_free(struct chain *c)
{
	struct stream *s = c->first, *next;

	for (; s; s = next) {
		next = s->next;
		if (s->ops->free)
			s->ops->free(s);
	}
}
