/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decodes each new state of a thread, and passes its frames through the automaton. A small cache of
 * states saves most of this, as in context_keys.c.
 *
 * The stack below a deep sample is not decoded as a whole: it hardly changes from one sample to the
 * next. For each complete segment, a cache keeps what the frames of the segment and of all below it
 * do. These frames begin with the call that pushed the segment's last entry. What is outside of
 * that call depends on this entry only, and not on what was called. So the frames of a sample, or
 * of a segment, can be cut off there:
 *
 *	entries      | ... 15 | 0 ... 15 | 0 ... 15 | 0 ... n |  of the sample
 *	decoded for a sample  ^------------------------------^   at first without frames of entry ^
 *	decoded for a segment ^----------^                       the same
 *	from the cache   ----->
 *
 * Where this is impossible, all is decoded: if the last entry is a special one, for example.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <pcce/sample.h>
#include "base/array.h"
#include "decode/frames.h"
#include "filter/context_filter.h"
#include "filter/frame_steps.h"
#include "filter/sample_state.h"

#define CACHED (1u << 15)	   /* states of samples */
#define CACHED_SEGMENTS (1u << 16) /* as many as one stack can have */

/* If there are more complete segments, only the newest NEAR are decoded with each sample. */
#define MANY_SEGMENTS 16
#define NEAR 2

struct answered {
	uint64_t state[2]; /* state[1] 0: a free place */
	uint64_t answer;
};

/* What the frames from a segment on do. */
struct segment_steps {
	uint64_t stack, layout; /* stack 0: a free place */
	struct frame_steps steps;
};

struct context_filter {
	struct frame_matcher *matcher;
	/* Asked until a context fits: whether one would with creation contexts. Or NULL. */
	struct context_filter *crossing;
	struct expression crossing_parts; /* has the strings of another */
	bool crosses;
	uint8_t last; /* state in which all parts are found, as a bit */
	bool origins; /* contexts continue in the creation contexts of their threads */
	struct answered *cache;
	struct segment_steps *segments;
	struct decode_context context, outer;
	struct stack_store_flat flat;
	const struct stack_node **path; /* segments whose steps are not known */
	size_t path_capacity;
};

/* A stack and the space in which it has a meaning. */
struct deep {
	const struct decode_space *as;
	uint64_t layout;
	bool complete; /* nothing is missing below */
};

/* False: no memory. */
static bool add_crossing(struct context_filter *f, const struct record_modules *m,
			 const struct expression *e)
{
	bool any = false;

	f->crossing_parts = *e;
	for (unsigned int i = 0; i < e->n; i++) {
		any |= e->any[i];
		f->crossing_parts.cross[i] = e->any[i];
	}
	if (!any || f->origins)
		return true;
	f->crossing = context_filter_new(m, &f->crossing_parts);
	return f->crossing != NULL;
}

struct context_filter *context_filter_new(const struct record_modules *m,
					  const struct expression *e)
{
	struct context_filter *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->last = (uint8_t)(1u << e->n);
	f->origins = expression_crosses(e);
	f->matcher = frame_matcher_new(m, e);
	f->cache = calloc(CACHED, sizeof(*f->cache));
	f->segments = calloc(CACHED_SEGMENTS, sizeof(*f->segments));
	if (f->matcher && f->cache && f->segments && add_crossing(f, m, e))
		return f;
	context_filter_free(f);
	return NULL;
}

void context_filter_free(struct context_filter *f)
{
	if (!f)
		return;
	context_filter_free(f->crossing);
	frame_matcher_free(f->matcher);
	free(f->cache);
	free(f->segments);
	decode_context_free(&f->context);
	decode_context_free(&f->outer);
	free(f->flat.entries);
	free(f->path);
	free(f);
}

void context_filter_facts(struct context_filter *f, struct only_facts *facts)
{
	*facts = (struct only_facts){.crosses = f->crosses};
	frame_matcher_facts(f->matcher, facts);
}

/* ---- the stack below ------------------------------------------------------------- */

static const struct pcce_entry *last_entry(const struct stack_node *node)
{
	return &stack_store_entries(node)[PCCE_SEGMENT_ENTRIES - 1];
}

/* Decodes what is outside of code that is not known, with n entries. */
static int decode_entries(const struct context_filter *f, const struct deep *d,
			  const struct pcce_entry *entries, uint32_t n, bool complete,
			  struct decode_context *ctx)
{
	const struct pcce_sample s = {.n_below = n / PCCE_SEGMENT_ENTRIES + !complete};

	return decode_sample(d->as, &s, entries, n, false, f->origins, ctx);
}

/*
 * The frames of f->context end with those of this entry, and a gap. Returns how many frames come
 * before these, or 0: it cannot be said. 0 with *r -ENOMEM: no memory.
 */
static size_t cut_off(struct context_filter *f, const struct deep *d,
		      const struct pcce_entry *entry, int *r)
{
	const struct decode_context *c = &f->context, *o = &f->outer;
	const struct decode_frame *a, *b;
	size_t n;

	if (entry->site >> PCCE_SITE_BITS > PCCE_COUNT_MAX || c->status != DECODE_TRUNCATED)
		return 0;
	*r = decode_entries(f, d, entry, 1, false, &f->outer);
	/* The first frame is the unknown code, the last one the gap. */
	if (*r || o->status != DECODE_TRUNCATED || o->n < 3 || c->n < o->n)
		return 0;
	n = o->n - 1;
	a = &c->frames[c->n - n];
	b = &o->frames[1];
	if (!decode_frames_same(a, b, n))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (a[i].repeat != b[i].repeat || (a[i].repeat && a[i].span != b[i].span))
			return 0;
	return c->n - n;
}

static int decode_all_below(struct context_filter *f, const struct deep *d,
			    const struct stack_node *node, struct frame_steps *steps)
{
	static const struct pcce_sample none;
	int r = stack_store_flatten(node, &none, &f->flat);

	r = r ? r : decode_entries(f, d, f->flat.entries, f->flat.n, d->complete, &f->context);
	*steps = FRAME_STEPS_NONE;
	return r ? r : frame_matcher_add(f->matcher, f->context.frames, 1, f->context.n, steps);
}

/* below: what the segment below does; not used if there is none. */
static int find_steps(struct context_filter *f, const struct deep *d, const struct stack_node *node,
		      const struct frame_steps *below, struct frame_steps *steps)
{
	const struct stack_node *next = stack_store_below(node);
	struct pcce_entry entries[1 + PCCE_SEGMENT_ENTRIES];
	size_t n = 0;
	int r = 0;

	if (next) {
		entries[0] = *last_entry(next);
		memcpy(entries + 1, stack_store_entries(node), sizeof(entries) - sizeof(*entries));
		r = decode_entries(f, d, entries, 1 + PCCE_SEGMENT_ENTRIES, false, &f->context);
		n = r ? 0 : cut_off(f, d, entries, &r);
	}
	if (r || !n)
		return r ? r : decode_all_below(f, d, node, steps);
	*steps = FRAME_STEPS_NONE;
	r = frame_matcher_add(f->matcher, f->context.frames, 1, n, steps);
	*steps = frame_steps_product(*steps, *below);
	return r;
}

static struct segment_steps *place_of_segment(struct context_filter *f, const struct deep *d,
					      const struct stack_node *node)
{
	uint64_t hash = stack_store_hash(node) ^ d->layout * 0x9e3779b97f4a7c15ULL;

	return &f->segments[(hash ^ hash >> 32) % CACHED_SEGMENTS];
}

static bool is_known(const struct segment_steps *s, const struct deep *d,
		     const struct stack_node *node)
{
	return s->stack == stack_store_hash(node) && s->layout == (d->layout << 1 | d->complete);
}

/* Finds what the frames of a segment and of all below it do. 0 or -ENOMEM. */
static int steps_of_segment(struct context_filter *f, const struct deep *d,
			    const struct stack_node *node, struct frame_steps *steps)
{
	uint64_t depth = stack_store_depth(node), n = 0;
	struct frame_steps below = FRAME_STEPS_NONE;
	struct segment_steps *s;

	if (array_reserve(&f->path, &f->path_capacity, depth, sizeof(*f->path)))
		return -ENOMEM;
	for (; node; node = stack_store_below(node)) {
		s = place_of_segment(f, d, node);
		if (is_known(s, d, node)) {
			below = s->steps;
			break;
		}
		f->path[n++] = node;
	}
	while (n) {
		node = f->path[--n];
		if (find_steps(f, d, node, &below, steps))
			return -ENOMEM;
		below = *steps;
		s = place_of_segment(f, d, node);
		*s = (struct segment_steps){stack_store_hash(node), d->layout << 1 | d->complete,
					    below};
	}
	*steps = below;
	return 0;
}

/* ---- samples --------------------------------------------------------------------- */

static int decode_whole(struct context_filter *f, const struct decode_space *as,
			const struct pcce_sample *s, const struct stack_node *below,
			struct frame_steps *steps)
{
	const struct decode_context *c = &f->context;
	int r = stack_store_flatten(below, s, &f->flat);

	r = r ? r
	      : decode_sample(as, s, f->flat.entries, f->flat.n, false, f->origins, &f->context);
	r = r ? r : frame_matcher_add(f->matcher, c->frames, 0, c->n, steps);
	/* Instrumented code, but there is no page yet: nobody knows its callers. */
	if (!r && c->status == DECODE_OUTSIDE && c->n && c->frames[0].kind == DECODE_FRAME_CALL)
		frame_matcher_add_gap(f->matcher, steps);
	return r;
}

/* Decodes the newest entries only. Returns false if the answer needs more, or with *r -ENOMEM. */
static bool decode_near(struct context_filter *f, const struct deep *d, const struct pcce_sample *s,
			const struct stack_node *below, struct frame_steps *steps, int *r)
{
	struct pcce_entry entries[1 + (NEAR + 1) * PCCE_SEGMENT_ENTRIES];
	uint32_t n = 1 + NEAR * PCCE_SEGMENT_ENTRIES;
	const struct decode_context *c = &f->context;
	struct frame_steps rest;
	size_t frames;

	memcpy(entries + n, pcce_sample_entries(s), s->n_entries * sizeof(*entries));
	for (uint32_t at = n; at > 1; below = stack_store_below(below)) {
		at -= PCCE_SEGMENT_ENTRIES;
		memcpy(entries + at, stack_store_entries(below),
		       PCCE_SEGMENT_ENTRIES * sizeof(*entries));
	}
	entries[0] = *last_entry(below);
	*r = decode_sample(d->as, s, entries, n + s->n_entries, false, f->origins, &f->context);
	if (*r)
		return false;
	/* The thread began further inside. */
	if (c->status == DECODE_EXACT) {
		*r = frame_matcher_add(f->matcher, c->frames, 0, c->n, steps);
		return !*r;
	}
	frames = cut_off(f, d, entries, r);
	if (*r || !frames)
		return false;
	*r = frame_matcher_add(f->matcher, c->frames, 0, frames, steps);
	*r = *r ? *r : steps_of_segment(f, d, below, &rest);
	if (*r)
		return false;
	*steps = frame_steps_product(*steps, rest);
	return true;
}

static int find_answer(struct context_filter *f, const struct decode_space *as, uint64_t layout,
		       const struct pcce_sample *s, const struct stack_node *below,
		       enum filter_answer *answer)
{
	uint64_t known = below ? stack_store_depth(below) : 0;
	const struct deep d = {as, layout, known == s->n_below};
	struct frame_steps steps = FRAME_STEPS_NONE;
	int r = 0;

	if (s->flags & PCCE_SAMPLE_TRACED) {
		*answer = FILTER_UNKNOWN;
		return 0;
	}
	if (known <= MANY_SEGMENTS || !decode_near(f, &d, s, below, &steps, &r)) {
		steps = FRAME_STEPS_NONE;
		r = r ? r : decode_whole(f, as, s, below, &steps);
	}
	/* From the first state. */
	*answer = steps.certain & f->last    ? FILTER_YES
		  : steps.possible & f->last ? FILTER_UNKNOWN
					     : FILTER_NO;
	return r;
}

/* Looks for a reason as long as nothing fits. 0 or -ENOMEM. */
static int look_across(struct context_filter *f, const struct decode_space *as, uint64_t layout,
		       const struct pcce_sample *s, const struct stack_node *below,
		       enum filter_answer answer)
{
	enum filter_answer across = FILTER_YES;

	if (!f->crossing ||
	    (answer == FILTER_NO && find_answer(f->crossing, as, layout, s, below, &across)))
		return f->crossing ? -ENOMEM : 0;
	if (answer == FILTER_NO && across == FILTER_YES)
		f->crosses = true;
	if (answer != FILTER_YES && !f->crosses)
		return 0;
	context_filter_free(f->crossing);
	f->crossing = NULL;
	return 0;
}

int context_filter_ask(struct context_filter *f, const struct decode_space *as, uint64_t layout,
		       const struct pcce_sample *s, const struct stack_node *below,
		       enum filter_answer *answer)
{
	struct answered *c;
	uint64_t state[2];

	sample_state(as, layout, s, below, state);
	c = &f->cache[state[0] % CACHED];
	if (c->state[0] != state[0] || c->state[1] != state[1]) {
		c->state[1] = 0;
		if (find_answer(f, as, layout, s, below, answer) ||
		    look_across(f, as, layout, s, below, *answer))
			return -ENOMEM;
		*c = (struct answered){{state[0], state[1]}, *answer};
	}
	*answer = (enum filter_answer)c->answer;
	return 0;
}
