/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See only.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "filter/context_filter.h"
#include "filter/only.h"
#include "stream/stack_store.h"

#define SWEEP_AFTER 4096 /* new segments */

/* A place of the sampler. */
struct only_place {
	bool left_out;
	uint32_t epoch;
	/* What is kept of it once the epoch has ended: the sample, without the encoding stack. */
	struct pcce_sample mixed;
};

struct only {
	const struct record_modules *modules;
	const char *text;
	struct context_filter *filter;
	struct address_spaces *spaces;
	struct context_keys *keys; /* NULL: not needed yet */
	struct stack_store *stacks;
	size_t swept; /* segments after the last sweep */
	struct only_place *places;
	uint32_t n_places;
	struct only_counts counts, written;
};

struct only *only_new(const struct record_modules *m, const struct expression *e, const char *text)
{
	struct only *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->modules = m;
	o->text = text;
	o->filter = context_filter_new(m, e);
	o->spaces = record_modules_spaces(m);
	o->stacks = stack_store_new();
	if (o->filter && o->spaces && o->stacks)
		return o;
	only_free(o);
	return NULL;
}

void only_free(struct only *o)
{
	if (!o)
		return;
	context_filter_free(o->filter);
	address_spaces_free(o->spaces);
	context_keys_free(o->keys);
	stack_store_free(o->stacks);
	free(o->places);
	free(o);
}

int only_process(struct only *o, const struct pcce_rec_process *p)
{
	return address_spaces_add_process(o->spaces, p);
}

int only_map(struct only *o, const struct pcce_rec_map *map)
{
	return address_spaces_add_map(o->spaces, map);
}

/* ---- samples --------------------------------------------------------------------- */

/* Nothing refers to a stack longer than a call of only_sample(). */
static void drop_old_stacks(struct only *o)
{
	if (stack_store_count(o->stacks) < 2 * o->swept + SWEEP_AFTER)
		return;
	stack_store_sweep(o->stacks);
	o->swept = stack_store_count(o->stacks);
}

static int ask(struct only *o, const struct pcce_sample *s, enum filter_answer *answer)
{
	const struct stack_node *below;
	const struct decode_space *as;
	uint64_t layout;

	drop_old_stacks(o);
	if (stack_store_take(o->stacks, s, &below))
		return -ENOMEM;
	as = address_spaces_now(o->spaces, s->pid, &layout);
	return as ? context_filter_ask(o->filter, as, layout, s, below, answer) : -ENOMEM;
}

int only_sample(struct only *o, const struct pcce_sample *s, const struct pcce_sample **kept)
{
	uint64_t samples = s->flags & PCCE_SAMPLE_COUNTED ? s->sp : 1;
	enum filter_answer answer;

	*kept = NULL;
	if (ask(o, s, &answer))
		return -ENOMEM;
	if (answer == FILTER_NO) {
		o->counts.left_out += samples;
		o->counts.left_out_weight += s->weight ? s->weight : samples;
		return 0;
	}
	o->counts.kept += samples;
	o->counts.unknown += answer == FILTER_UNKNOWN ? samples : 0;
	return stack_store_complete(o->stacks, s, kept);
}

/* ---- places of the sampler --------------------------------------------------------- */

/* NULL: no memory. */
static struct only_place *only_place_of(struct only *o, uint32_t place)
{
	uint32_t n = place + 1 > 2 * o->n_places ? place + 1 : 2 * o->n_places;
	struct only_place *grown;

	if (place < o->n_places)
		return &o->places[place];
	grown = reallocarray(o->places, n, sizeof(*grown));
	if (!grown)
		return NULL;
	memset(grown + o->n_places, 0, (n - o->n_places) * sizeof(*grown));
	o->places = grown;
	o->n_places = n;
	return &o->places[place];
}

int only_claim(struct only *o, const struct pcce_sample *s, uint32_t place, uint32_t epoch,
	       const struct pcce_sample **kept)
{
	struct only_place *p = only_place_of(o, place);

	if (!p || only_sample(o, s, kept))
		return -ENOMEM;
	*p = (struct only_place){.left_out = !*kept, .epoch = epoch, .mixed = *s};
	p->mixed.flags |= PCCE_SAMPLE_MIXED;
	p->mixed.n_entries = p->mixed.n_segments = p->mixed.n_below = p->mixed.n_stack = 0;
	p->mixed.below = 0;
	return 0;
}

bool only_leaves_out(const struct only *o, uint32_t place)
{
	return place < o->n_places && o->places[place].left_out;
}

void only_counted(struct only *o, uint32_t place, uint64_t samples, uint64_t weight,
		  const struct pcce_sample **kept)
{
	const struct only_place *p = &o->places[place];

	*kept = NULL;
	if (address_spaces_epoch(o->spaces, p->mixed.pid) == p->epoch) {
		o->counts.left_out += samples;
		o->counts.left_out_weight += weight;
		return;
	}
	o->counts.kept += samples;
	o->counts.unknown += samples;
	*kept = &p->mixed;
}

struct address_spaces *only_spaces(struct only *o)
{
	return o->spaces;
}

struct context_keys *only_keys(struct only *o)
{
	if (!o->keys)
		o->keys = context_keys_new(o->modules);
	return o->keys;
}

/* ---- the end --------------------------------------------------------------------- */

const struct only_counts *only_count(const struct only *o)
{
	return &o->counts;
}

const char *only_missing(struct only *o)
{
	return context_filter_missing(o->filter);
}

int only_write(struct only *o, struct datafile_writer *w, uint64_t time)
{
	struct pcce_rec_only rec = {
		.time = time,
		.unknown = o->counts.unknown - o->written.unknown,
		.left_out = o->counts.left_out - o->written.left_out,
		.left_out_weight = o->counts.left_out_weight - o->written.left_out_weight,
	};

	o->written = o->counts;
	return datafile_put_strings(w, PCCE_REC_ONLY, &rec, sizeof(rec), &o->text, 1);
}
