/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See frame_steps.h. Which parts of the expression a function matches is found once for each
 * module. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "filter/frame_steps.h"

#define PARTS (1u << EXPRESSION_PARTS)

/* Which parts of the expression each function of a module matches, as sets of parts. */
struct module_parts {
	uint8_t *matched;
	uint8_t *before; /* matched by functions that lead here by direct tail calls */
};

struct frame_matcher {
	const struct record_modules *modules;
	const struct expression *e;
	uint64_t frame[PARTS];	    /* matrix of a function that matches these parts */
	uint64_t thread;	    /* matrix of the beginning of a thread */
	struct frame_steps gap;	    /* of any number of unknown frames */
	struct module_parts *parts; /* by module */
	size_t n_modules;
	uint8_t seen;	 /* parts that frames have matched */
	uint8_t leaving; /* parts that functions match which may tail-call anything */
};

struct frame_matcher *frame_matcher_new(const struct record_modules *m, const struct expression *e)
{
	struct frame_matcher *f = calloc(1, sizeof(*f));
	uint64_t all = (2u << e->n) - 1;

	if (!f)
		return NULL;
	f->modules = m;
	f->e = e;
	for (unsigned int i = 0; i < PARTS; i++)
		f->frame[i] = expression_frame(e, (uint8_t)i);
	f->thread = expression_thread(e);
	for (unsigned int q = 0; q <= e->n; q++) {
		/* States that all frames leave alone remain certain. */
		f->gap.certain |= f->frame[0] & 1ULL << (8 * q + q);
		f->gap.possible |= all << 8 * q;
	}
	/* The beginning of a thread may be missing, too. */
	if (expression_crosses(e))
		f->gap.certain &= f->thread;
	return f;
}

void frame_matcher_free(struct frame_matcher *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_modules; i++) {
		free(f->parts[i].matched);
		free(f->parts[i].before);
	}
	free(f->parts);
	free(f);
}

/* ---- functions ------------------------------------------------------------------- */

static void find_before(struct module_parts *p, const struct encoding_table *t)
{
	for (bool more = true; more;) {
		more = false;
		for (uint64_t i = 0; i < t->head->tails.count; i++) {
			uint32_t from = t->tails[i].from, to = t->tails[i].to;
			uint8_t before = p->before[to] | p->before[from] | p->matched[from];

			more |= before != p->before[to];
			p->before[to] = before;
		}
	}
}

static int match_functions(struct frame_matcher *f, struct module_parts *p,
			   const struct encoding_table *t)
{
	uint64_t n = t->head->funcs.count;

	p->matched = calloc(n + 1, 1);
	p->before = calloc(n + 1, 1);
	if (!p->matched || !p->before) {
		free(p->matched);
		free(p->before);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < n; i++) {
		p->matched[i] = expression_match(f->e, encoding_table_string(t, t->funcs[i].name));
		if (t->funcs[i].flags & PCCE_FUNC_TAIL_OUT)
			f->leaving |= p->matched[i];
	}
	find_before(p, t);
	return 0;
}

/* Matches the functions of modules that are new. 0 or -ENOMEM. */
static int match_modules(struct frame_matcher *f)
{
	while (f->n_modules < record_modules_count(f->modules)) {
		const struct record_module *m =
			record_modules_get(f->modules, (uint32_t)f->n_modules);
		struct module_parts *p;

		if (array_grow(&f->parts, f->n_modules, sizeof(*f->parts)))
			return -ENOMEM;
		p = &f->parts[f->n_modules];
		*p = (struct module_parts){NULL, NULL};
		if (m->instrumented && match_functions(f, p, &m->table))
			return -ENOMEM;
		f->n_modules++;
	}
	return 0;
}

void frame_matcher_facts(struct frame_matcher *f, struct only_facts *facts)
{
	facts->seen = f->seen;
	facts->any_known = match_modules(f) != 0;
	for (uint32_t i = 0; i < f->n_modules; i++) {
		const struct record_module *m = record_modules_get(f->modules, i);

		facts->any_known |= m->missing;
		for (uint64_t k = 0; m->instrumented && k < m->table.head->funcs.count; k++)
			facts->known |= f->parts[i].matched[k];
	}
}

/* ---- frames ---------------------------------------------------------------------- */

void frame_matcher_add_gap(const struct frame_matcher *f, struct frame_steps *steps)
{
	*steps = frame_steps_product(*steps, f->gap);
}

static bool has_function(const struct decode_frame *frame)
{
	return (frame->kind == DECODE_FRAME_CALL || frame->kind == DECODE_FRAME_TAIL) &&
	       frame->func != PCCE_NONE && frame->module != UINT32_MAX;
}

/*
 * Any number of functions that were left by tail calls, outside of the inner frame. They can only
 * be functions that leave their module, or that lead to the inner one.
 */
static void add_tail_gap(const struct frame_matcher *f, const struct decode_frame *inner,
			 struct frame_steps *steps)
{
	uint64_t once = PCCE_SET_IDENTITY | f->frame[0], any;
	uint8_t parts = f->leaving;

	if (inner && has_function(inner))
		parts |= f->parts[inner->module].before[inner->func];
	once |= f->frame[parts];
	any = once;
	for (unsigned int q = 0; q <= f->e->n; q++)
		any = pcce_set_product(any, once);
	*steps = frame_steps_product(*steps, (struct frame_steps){f->gap.certain, any});
}

/* inner: the next inner frame, or NULL. */
static int add_one(struct frame_matcher *f, const struct decode_frame *frame,
		   const struct decode_frame *inner, struct frame_steps *steps)
{
	uint64_t matrix = f->frame[0];

	if (frame->kind == DECODE_FRAME_GAP) {
		frame_matcher_add_gap(f, steps);
		return 0;
	}
	if (frame->kind == DECODE_FRAME_ORIGIN) {
		*steps = frame_steps_product(*steps, (struct frame_steps){f->thread, f->thread});
		return 0;
	}
	if (match_modules(f))
		return -ENOMEM;
	if (frame->open)
		add_tail_gap(f, inner, steps);
	if (has_function(frame)) {
		uint8_t matched = f->parts[frame->module].matched[frame->func];

		f->seen |= matched;
		matrix = f->frame[matched];
	}
	*steps = frame_steps_product(*steps, (struct frame_steps){matrix, matrix});
	return 0;
}

/* The frames up to this one occur more often. */
static int add_repetitions(struct frame_matcher *f, const struct decode_frame *last,
			   struct frame_steps *steps)
{
	const struct decode_frame *first = last + 1 - last->span, *inner = last;
	struct frame_steps once = FRAME_STEPS_NONE;

	for (const struct decode_frame *frame = first; frame <= last; inner = frame++)
		if (add_one(f, frame, inner, &once))
			return -ENOMEM;
	for (uint32_t n = last->repeat; n; n /= 2) {
		if (n & 1)
			*steps = frame_steps_product(*steps, once);
		once = frame_steps_product(once, once);
	}
	return 0;
}

int frame_matcher_add(struct frame_matcher *f, const struct decode_frame *frames, size_t first,
		      size_t end, struct frame_steps *steps)
{
	int r = 0;

	for (size_t i = first; i < end && !r; i++) {
		r = add_one(f, &frames[i], i ? &frames[i - 1] : NULL, steps);
		if (!r && frames[i].repeat)
			r = add_repetitions(f, &frames[i], steps);
	}
	return r;
}
