/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts samples by state, and makes a profile of the counts at each turn.
 *
 *   sample   its state is looked up in a hash table, by all that its meaning depends on, its thread
 *            and its event; the whole state is compared, not only its hash
 *   turn     new states are decoded: once without names, which tells which addresses need names
 *            (live_symbols.c), and once with them; the counts become entries
 *   window   the profile keeps one sample for each entry of the last turns
 *
 * States, decoded contexts and address spaces are kept until there are many states. Then the states
 * are forgotten after the turn, since entries need them no more. The contexts and the entries are
 * forgotten when the next turn begins, since the view looks at them until then. Names stay.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include <pcce/sample.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/hash_table.h"
#include "profile/live.h"
#include "profile/live_symbols.h"
#include "profile/profile_internal.h"
#include "profile/sample_points.h"
#include "stream/kernel_stacks.h"

#define STATES_MANY 65536 /* after the turn, all are forgotten */
#define STATES_MOST 262144

/* What a state is, apart from its sample. No padding: it is hashed as bytes. */
struct state_where {
	const struct stack_node *below; /* equal stacks have one */
	const struct kernel_stack *kernel;
	uint64_t space;
};

struct state_key {
	struct state_where where;
	const struct pcce_sample *sample; /* without what its meaning does not depend on */
	size_t size;
};

struct live_state {
	struct state_key key;
	uint64_t hash;
	uint64_t samples, weight; /* of this turn */
	uint32_t meaning;
};

HASH_TABLE_TYPE(live_table, uint32_t);

/* The samples of a state in one turn. */
struct live_entry {
	uint64_t time, samples, weight;
	uint32_t pid, tid, event, meaning;
};

struct live_profile {
	struct stream stream;
	struct profile *p;
	const struct selection *select;
	struct address_spaces *spaces;
	struct sample_points *points;
	struct live_symbols *symbols;
	struct tree_builder *builder;
	struct decode_cache *scout, *cache; /* scout: finds addresses */
	struct thread_origins *scout_origins;
	struct decode_cache *lines; /* the cache, for lines of innermost functions */
	struct live_state *states;
	size_t n_states, states_capacity;
	struct live_table by_content; /* index of a state + 1 */
	size_t decoded;		      /* states that have a meaning */
	uint32_t *touched;	      /* states that have samples in this turn */
	size_t n_touched, touched_capacity;
	struct live_entry *entries;
	size_t n_entries, entries_capacity;
	struct pcce_sample *sample; /* that is looked up */
	size_t sample_capacity;
	char *strings[5];	/* of the info record */
	uint32_t named;		/* keys of the tree when names were shortened last */
	bool forgotten;		/* the contexts are those of states that were forgotten */
	uint64_t window, begun; /* begun: when the window began to fill */
	struct live_counts counts;
};

static struct live_profile *live_of(struct stream *s)
{
	return (struct live_profile *)s;
}

static uint64_t hash_state_key(const struct state_key *key)
{
	uint64_t h = XXH3_64bits(&key->where, sizeof(key->where));

	return XXH3_64bits_withSeed(key->sample, key->size, h);
}

static bool is_same_key(const struct state_key *a, const struct state_key *b)
{
	return a->size == b->size && !memcmp(&a->where, &b->where, sizeof(a->where)) &&
	       !memcmp(a->sample, b->sample, a->size);
}

HASH_TABLE_FUNCTIONS(live_table, uint32_t, struct state_key, struct live_profile, *s,
		     o->states[*s - 1].hash, is_same_key(&o->states[*s - 1].key, key));

/* ---- samples --------------------------------------------------------------------- */

/* Copies a sample to l->sample, without what the decode cache does not look at either. Returns its
 * size; 0: no memory. */
static size_t copy_state(struct live_profile *l, const struct stream_event *e, bool needs_r11)
{
	const struct pcce_sample *s = e->sample;
	size_t size = sizeof(*s) + s->n_entries * sizeof(struct pcce_entry),
	       stack = s->n_stack * sizeof(uint64_t);
	struct pcce_sample *to;

	if (array_reserve(&l->sample, &l->sample_capacity, size + stack, 1))
		return 0;
	to = l->sample;
	memcpy(to, s, size);
	memcpy((char *)to + size, pcce_sample_stack(s), stack);
	to->flags &= ~PCCE_SAMPLE_BY_CONTENT;
	to->time = to->sp = to->below = 0;
	to->weight = to->cpu = to->n_segments = 0;
	if (!needs_r11)
		to->r11 = 0;
	if (e->kernel)
		to->kip = e->kernel->number;
	return size + stack;
}

static int add_state(struct live_profile *l, const struct state_key *key, uint64_t hash,
		     uint32_t *slot)
{
	struct live_state *new;
	struct pcce_sample *copy = malloc(key->size);

	if (!copy || array_grow_from(&l->states, l->n_states, &l->states_capacity, 1024,
				     sizeof(*l->states))) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, key->sample, key->size);
	new = &l->states[l->n_states];
	*new = (struct live_state){.key = *key, .hash = hash};
	new->key.sample = copy;
	live_table_fill(&l->by_content, slot, (uint32_t)++l->n_states);
	return 0;
}

/* Finds the state of a sample, or adds it. UINT32_MAX: no memory. */
static uint32_t live_state_of(struct live_profile *l, const struct stream_event *e)
{
	uint32_t space = address_spaces_number(l->spaces, e->sample->pid);
	const struct sample_point *point =
		space == UINT32_MAX ? NULL : sample_points_at(l->points, space, e->sample->ip);
	struct state_key key = {.where = {e->below, e->kernel, space}};
	uint64_t hash;
	uint32_t *slot;

	if (!point)
		return UINT32_MAX;
	key.size = copy_state(l, e, point->needs_r11);
	if (!key.size)
		return UINT32_MAX;
	key.sample = l->sample;
	hash = hash_state_key(&key);
	slot = live_table_slot(&l->by_content, l, hash, &key);
	if (!slot || (!*slot && add_state(l, &key, hash, slot)))
		return UINT32_MAX;
	return *slot - 1;
}

static int live_event(struct stream *s, struct stream_event *e)
{
	struct live_profile *l = live_of(s);
	struct live_state *state;
	uint32_t at;

	/* No turn for a long time, since the user looks at another page. */
	if (l->n_states >= STATES_MOST) {
		l->counts.lost += e->samples;
		return 0;
	}
	at = live_state_of(l, e);
	if (at == UINT32_MAX)
		return -ENOMEM;
	l->counts.samples += e->samples;
	state = &l->states[at];
	if (!state->samples) {
		if (array_grow_from(&l->touched, l->n_touched, &l->touched_capacity, 1024,
				    sizeof(*l->touched)))
			return -ENOMEM;
		l->touched[l->n_touched++] = at;
	}
	state->samples += e->samples;
	state->weight += e->weight;
	return 0;
}

/* ---- other records --------------------------------------------------------------- */

static int live_process(struct stream *s, const struct pcce_rec_process *rec, const char *comm)
{
	struct live_profile *l = live_of(s);

	return address_spaces_add_process(l->spaces, rec)
		       ? -ENOMEM
		       : stream_pass(threads_stage(l->p->threads, NULL), process, rec, comm);
}

static int live_thread(struct stream *s, const struct pcce_rec_thread *rec, const char *comm)
{
	return stream_pass(threads_stage(live_of(s)->p->threads, NULL), thread, rec, comm);
}

static int live_map(struct stream *s, const struct pcce_rec_map *rec, uint64_t pgoff,
		    const char *path)
{
	struct live_profile *l = live_of(s);

	(void)pgoff;
	(void)path;
	return address_spaces_add_map(l->spaces, rec) || symbol_table_add_map(l->p->names, rec)
		       ? -ENOMEM
		       : 0;
}

static int live_lost(struct stream *s, const struct pcce_rec_lost *rec)
{
	struct live_profile *l = live_of(s);

	l->counts.lost += rec->count;
	l->p->in->accounts[recording_account_of(rec->event)]
		.lost[rec->reason <= PCCE_LOSS_MAX ? rec->reason : 0] += rec->count;
	return 0;
}

static int take_live_info(struct live_profile *l, const struct pcce_rec_info *rec,
			  const char *const *strings)
{
	struct profile *p = l->p;

	for (size_t i = 0; i < sizeof(l->strings) / sizeof(l->strings[0]); i++) {
		free(l->strings[i]);
		l->strings[i] = strdup(strings[i]);
		if (!l->strings[i])
			return -ENOMEM;
	}
	p->sampler = l->strings[0];
	p->events = l->strings[1];
	p->command = l->strings[2];
	p->host = l->strings[3];
	p->kernel = l->strings[4];
	p->n_events = datafile_events(p->events);
	p->start_time = l->begun = rec->start_time;
	p->wall_time = rec->wall_time;
	p->stats.frames = rec->flags & PCCE_INFO_FRAMES;
	for (uint32_t i = 0; i < RECORDING_ACCOUNTS; i++)
		p->in->rates[i] = (struct recording_rate){rec->frequency, rec->period};
	return 0;
}

static int live_record(struct stream *s, uint32_t type, const void *rec, size_t size,
		       const char *const *strings, int n_strings)
{
	struct live_profile *l = live_of(s);
	const struct pcce_rec_event *event = rec;

	(void)size;
	(void)n_strings;
	if (type == PCCE_REC_INFO)
		return take_live_info(l, rec, strings);
	if (type == PCCE_REC_EVENT)
		l->p->in->rates[recording_account_of(event->event)] =
			(struct recording_rate){event->frequency, event->period};
	return 0;
}

static int keep_live_stacks(struct stream *s)
{
	const struct live_profile *l = live_of(s);

	for (size_t i = 0; i < l->n_states; i++)
		stack_store_keep(l->states[i].key.where.below);
	return 0;
}

/* ---- decoding -------------------------------------------------------------------- */

static int scout_frame(struct live_profile *l, const struct decode_space *as, uint64_t address)
{
	const struct decode_module *m = address ? as->find(as, address) : NULL;
	struct tree_place place;

	if (!m)
		return 0;
	place = (struct tree_place){.vaddr = decode_link_time(m, address), .module = m->module};
	return live_symbols_add(l->symbols, place);
}

static int scout_part(void *ctx, uint32_t space, const struct decode_context *part)
{
	struct live_profile *l = ctx;
	const struct decode_space *as = address_spaces_get(l->spaces, space);
	int r = 0;

	for (size_t i = 0; i < part->n && !r; i++)
		if (part->frames[i].kind != DECODE_FRAME_GAP)
			r = scout_frame(l, as, part->frames[i].address);
	return r;
}

static int scout_state(void *ctx, const struct decode_cache_sample *s, uint32_t space,
		       const struct decode_cache_meaning *m, const struct decode_context *context)
{
	(void)s;
	(void)m;
	return scout_part(ctx, space, context);
}

static int scout_sample(void *ctx, const struct stream_event *s, uint32_t meaning)
{
	(void)ctx;
	(void)s;
	(void)meaning;
	return 0;
}

/* The addresses that the scout does not meet: one state of the decode cache can have several
 * instructions. */
static int scout_ends(struct live_profile *l, const struct live_state *state,
		      const struct stream_event *e)
{
	const uint64_t *frames;
	size_t n = kernel_stacks_of(e, &frames);
	int r = scout_frame(l, address_spaces_get(l->spaces, (uint32_t)state->key.where.space),
			    e->sample->ip);

	for (size_t i = 0; i < n && !r; i++)
		if (frames[i] >= PCCE_WAITS)
			r = live_symbols_add_kernel(l->symbols, frames[i]);
	return r;
}

static int meet_live_state(void *ctx, const struct decode_cache_sample *s, uint32_t space,
			   const struct decode_cache_meaning *m,
			   const struct decode_context *context)
{
	(void)ctx;
	(void)s;
	(void)space;
	(void)m;
	(void)context;
	return 0;
}

static int add_live_meaning(void *ctx, const struct decode_cache_meaning *m)
{
	struct live_profile *l = ctx;

	return profile_keep_instruction(l->p, m, l->lines);
}

/* Samples come back in their order. */
static int take_live_meaning(void *ctx, const struct stream_event *s, uint32_t meaning)
{
	struct live_profile *l = ctx;
	uint32_t origin = l->p->in->instructions[meaning].origin, thread;

	l->states[l->decoded++].meaning = meaning;
	if (!origin)
		return 0;
	thread = threads_number(l->p->threads, s->sample->pid, s->sample->tid);
	if (thread == UINT32_MAX)
		return -ENOMEM;
	threads_set_origin(l->p->threads, thread, origin);
	return 0;
}

static struct stream_event event_of_state(const struct live_state *state)
{
	return (struct stream_event){.sample = state->key.sample,
				     .samples = 1,
				     .weight = 1,
				     .below = state->key.where.below,
				     .kernel = state->key.where.kernel};
}

static int push_states(struct live_profile *l, struct decode_cache *d, bool ends)
{
	int r = 0;

	for (size_t i = l->decoded, n = l->n_states; i < n && !r; i++) {
		const struct live_state *state = &l->states[i];
		struct stream_event e = event_of_state(state);

		r = decode_cache_push_in(d, &e, (uint32_t)state->key.where.space);
		if (!r && ends)
			r = scout_ends(l, state, &e);
	}
	return r ? r : decode_cache_end(d);
}

static int decode_new_states(struct live_profile *l)
{
	int r = push_states(l, l->scout, true);

	if (!r)
		r = live_symbols_read(l->symbols);
	if (!r)
		r = push_states(l, l->cache, false);
	l->p->in->places = decode_cache_places(l->cache);
	l->p->in->n_contexts = (uint32_t)decode_cache_unique(l->cache);
	return r;
}

/* Makes what forget_contexts() frees. 0 or -ENOMEM. */
static int begin_contexts(struct live_profile *l)
{
	const struct decode_cache_sink scout = {.met = scout_state,
						.part = scout_part,
						.sample = scout_sample,
						.ctx = l},
				       sink = {.met = meet_live_state,
					       .meaning = add_live_meaning,
					       .sample = take_live_meaning,
					       .ctx = l,
					       .decoding = &l->lines};
	struct profile *p = l->p;

	if (!p->in->all.n && cct_init(&p->in->all))
		return -ENOMEM;
	l->builder = tree_builder_new(&p->in->all, p->names, true);
	p->origins = thread_origins_new(p->names, true);
	l->scout_origins = thread_origins_new(NULL, true);
	if (!l->builder || !p->origins || !l->scout_origins)
		return -ENOMEM;
	l->scout = decode_cache_new(l->spaces, NULL, NULL, l->scout_origins, true, &scout);
	l->cache = decode_cache_new(l->spaces, NULL, l->builder, p->origins, false, &sink);
	return l->scout && l->cache ? 0 : -ENOMEM;
}

static void forget_states(struct live_profile *l)
{
	for (size_t i = 0; i < l->n_states; i++)
		free((void *)(uintptr_t)l->states[i].key.sample);
	live_table_free(&l->by_content);
	l->n_states = l->decoded = l->n_touched = 0;
	sample_points_free(l->points);
	l->points = NULL;
	address_spaces_forget(l->spaces);
}

static void forget_contexts(struct live_profile *l)
{
	struct profile_internals *in = l->p->in;

	l->n_entries = 0;
	tree_builder_free(l->builder);
	decode_cache_free(l->scout);
	decode_cache_free(l->cache);
	thread_origins_free(l->scout_origins);
	thread_origins_free(l->p->origins);
	l->builder = NULL;
	l->scout = l->cache = NULL;
	l->p->origins = l->scout_origins = NULL;
	cct_free(&in->all);
	in->all = (struct cct){0};
	profile_settle(in);
	in->places = NULL;
	in->n_instructions = in->n_samples = in->n_sums = 0;
	l->p->n_leaves = 0;
	l->named = 0;
}

/* ---- turns ----------------------------------------------------------------------- */

/* The counts of this turn become entries, without those that are too old. */
static int add_entries(struct live_profile *l, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n_entries; i++)
		if (l->window && l->entries[i].time + l->window > now)
			l->entries[kept++] = l->entries[i];
	l->n_entries = kept;
	for (size_t i = 0; i < l->n_touched; i++) {
		struct live_state *state = &l->states[l->touched[i]];

		if (array_grow_from(&l->entries, l->n_entries, &l->entries_capacity, 1024,
				    sizeof(*l->entries)))
			return -ENOMEM;
		l->entries[l->n_entries++] = (struct live_entry){
			.time = now,
			.samples = state->samples,
			.weight = state->weight,
			.pid = state->key.sample->pid,
			.tid = state->key.sample->tid,
			.event = state->key.sample->event,
			.meaning = state->meaning,
		};
		state->samples = state->weight = 0;
	}
	l->n_touched = 0;
	return 0;
}

/* Names are those that the threads have now. */
static int name_streams(struct profile *p)
{
	for (size_t i = 0; i < threads_count(p->threads); i++) {
		const struct thread *t = threads_get(p->threads, (uint32_t)i);
		const struct pcce_rec_thread rec = {.pid = t->pid, .tid = t->tid};

		if (sample_streams_add_thread(p->streams, &rec, t->name))
			return -ENOMEM;
	}
	return sample_streams_finish(p->streams);
}

/* Keeps one sample for each entry. */
static int keep_entries(struct live_profile *l)
{
	struct profile *p = l->p;
	struct profile_internals *in = p->in;

	in->n_samples = in->n_sums = 0;
	memset(in->events, 0, sizeof(in->events));
	sample_streams_free(p->streams);
	p->streams = sample_streams_new();
	if (!p->streams)
		return -ENOMEM;
	for (size_t i = 0; i < l->n_entries; i++) {
		const struct live_entry *e = &l->entries[i];
		const struct pcce_sample s = {.time = e->time};
		const struct stream_event event = {
			.sample = &s, .samples = e->samples, .weight = e->weight};
		struct profile_event_sum *sum = &in->events[recording_account_of(e->event)];
		uint32_t stream = sample_streams_of(p->streams, e->pid, e->tid, e->event, 0);

		if (stream == UINT32_MAX ||
		    threads_number(p->threads, e->pid, e->tid) == UINT32_MAX ||
		    profile_keep(in, e->meaning, stream, &event))
			return -ENOMEM;
		sum->samples += e->samples;
		sum->weight += e->weight;
	}
	threads_finish(p->threads);
	free(in->thread_of);
	in->thread_of = NULL;
	return name_streams(p) ? -ENOMEM : profile_number_threads(p);
}

static int shorten_new_names(struct live_profile *l)
{
	uint32_t keys = cct_key_count(&l->p->in->all);

	if (keys == l->named)
		return 0;
	l->named = keys;
	return profile_shorten_names(l->p);
}

int live_profile_turn(struct live_profile *l)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	int r;

	if (l->forgotten) {
		forget_contexts(l);
		l->begun = l->p->last;
		if (begin_contexts(l))
			return -ENOMEM;
	}
	l->forgotten = false;
	r = decode_new_states(l);
	if (!r)
		r = add_entries(l, now);
	if (!l->window)
		l->p->first = l->p->last ? l->p->last : l->begun;
	else
		l->p->first = now - l->begun > l->window ? now - l->window : l->begun;
	l->p->last = now;
	if (!r)
		r = keep_entries(l);
	if (!r)
		r = shorten_new_names(l);
	if (!r && l->n_states >= STATES_MANY) {
		forget_states(l);
		l->points = sample_points_new(l->spaces);
		r = l->points ? 0 : -ENOMEM;
		l->forgotten = true;
	}
	return r ? r : profile_select(l->p, l->select);
}

struct profile *live_profile_get(struct live_profile *l)
{
	return l->p;
}

struct live_counts live_profile_counts(const struct live_profile *l)
{
	return l->counts;
}

uint64_t live_profile_span(const struct live_profile *l)
{
	return l->p->last - l->p->first;
}

/* ---- beginning and end ----------------------------------------------------------- */

void live_profile_free(struct live_profile *l)
{
	if (!l)
		return;
	if (l->p && l->p->in) {
		forget_states(l);
		forget_contexts(l);
		profile_free(l->p);
	}
	live_symbols_free(l->symbols);
	address_spaces_free(l->spaces);
	for (size_t i = 0; i < sizeof(l->strings) / sizeof(l->strings[0]); i++)
		free(l->strings[i]);
	free(l->states);
	free(l->touched);
	free(l->entries);
	free(l->sample);
	free(l);
}

static void free_live_stage(struct stream *s)
{
	live_profile_free(live_of(s));
}

struct stream *live_profile_stage(struct live_profile *l)
{
	return &l->stream;
}

struct live_profile *live_profile_new(struct record_modules *m, uint64_t window,
				      const struct selection *select)
{
	static const struct profile_options options = {
		.tree = true, .inlining = true, .lines = true, .again = true};
	static const struct stream_ops ops = {
		.process = live_process,
		.thread = live_thread,
		.map = live_map,
		.lost = live_lost,
		.event = live_event,
		.record = live_record,
		.keep = keep_live_stacks,
		.free = free_live_stage,
	};
	uint32_t kernel = (uint32_t)record_modules_count(m);
	struct live_profile *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->stream.ops = &ops;
	l->window = window;
	l->select = select;
	l->p = calloc(1, sizeof(*l->p));
	l->spaces = record_modules_spaces(m);
	if (!l->p || !l->spaces || profile_prepare(l->p, &options, select) ||
	    record_modules_add_kernel(m))
		goto no_memory;
	l->p->complete = true;
	l->p->events = l->p->command = l->p->sampler = l->p->host = l->p->kernel = "";
	l->symbols = live_symbols_new(m, kernel, l->p->names);
	l->points = sample_points_new(l->spaces);
	if (l->symbols && l->points && !live_symbols_read(l->symbols) && !begin_contexts(l))
		return l;
no_memory:
	live_profile_free(l);
	return NULL;
}
