/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Follows the states of the automaton from frame to frame: those that are reached certainly, and
 * those that are reached possibly. Frames that are missing remove certain states and add possible
 * ones.
 *
 * A small cache of states of samples saves most of the decoding, as in context_keys.c.
 */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "record/context_filter.h"
#include "record/sample_state.h"

#define CACHED (1u << 15) /* states of samples */
#define PARTS (1u << EXPRESSION_PARTS)

struct answered {
	uint64_t state[2]; /* state[1] 0: a free place */
	uint64_t answer;
};

struct context_filter {
	const struct record_modules *modules;
	const struct expression *e;
	uint64_t frame[PARTS]; /* matrix of a function that matches these parts */
	uint8_t **parts;       /* by module, and function; NULL: not needed yet */
	size_t n_modules;
	struct answered *cache;
	struct decode_context context;
	struct stack_store_flat flat;
};

/* States of the automaton, a bit for each. */
struct states {
	uint8_t certain, possible;
};

struct context_filter *context_filter_new(const struct record_modules *m,
					  const struct expression *e)
{
	struct context_filter *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->modules = m;
	f->e = e;
	f->cache = calloc(CACHED, sizeof(*f->cache));
	if (!f->cache) {
		free(f);
		return NULL;
	}
	for (unsigned int i = 0; i < PARTS; i++)
		f->frame[i] = expression_frame(e, (uint8_t)i);
	return f;
}

void context_filter_free(struct context_filter *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_modules; i++)
		free(f->parts[i]);
	free(f->parts);
	free(f->cache);
	decode_context_free(&f->context);
	free(f->flat.entries);
	free(f);
}

/* ---- functions ------------------------------------------------------------------- */

static int match_functions(struct context_filter *f, uint32_t module)
{
	const struct record_module *m = record_modules_get(f->modules, module);
	uint64_t n = m->instrumented ? m->table.head->funcs.count : 0;

	f->parts[module] = calloc(n + 1, 1);
	if (!f->parts[module])
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++)
		f->parts[module][i] = expression_match(
			f->e, encoding_table_string(&m->table, m->table.funcs[i].name));
	return 0;
}

/* The parts that the functions of a module match; NULL: no memory. */
static const uint8_t *parts_of(struct context_filter *f, uint32_t module)
{
	while (f->n_modules <= module) {
		if (array_grow(&f->parts, f->n_modules, sizeof(*f->parts)))
			return NULL;
		f->parts[f->n_modules++] = NULL;
	}
	if (!f->parts[module] && match_functions(f, module))
		return NULL;
	return f->parts[module];
}

const char *context_filter_missing(struct context_filter *f)
{
	uint8_t found = 0;

	for (uint32_t i = 0; i < record_modules_count(f->modules); i++) {
		const struct record_module *m = record_modules_get(f->modules, i);
		const uint8_t *parts = m->instrumented ? parts_of(f, i) : NULL;

		for (uint64_t k = 0; parts && k < m->table.head->funcs.count; k++)
			found |= parts[k];
	}
	for (unsigned int i = 0; i < f->e->n; i++)
		if (!(found & 1u << i))
			return f->e->name[i];
	return NULL;
}

/* ---- frames ---------------------------------------------------------------------- */

/* The states that a matrix leads to. */
static uint8_t lead(uint64_t matrix, uint8_t from)
{
	uint8_t to = 0;

	for (; from; from &= (uint8_t)(from - 1))
		to |= (uint8_t)(matrix >> 8 * __builtin_ctz(from));
	return to;
}

static struct states pass_frames(uint64_t matrix, struct states s)
{
	return (struct states){lead(matrix, s.certain), lead(matrix, s.possible)};
}

/* Any number of unknown frames: only states that all frames leave alone remain certain. */
static struct states pass_gap(const struct context_filter *f, struct states s)
{
	uint8_t kept = 0;

	for (unsigned int q = 0; q <= f->e->n; q++)
		kept |= (uint8_t)(f->frame[0] >> 8 * q & 1u << q);
	return (struct states){s.certain & kept, (uint8_t)((2u << f->e->n) - 1)};
}

/* 0 or -ENOMEM. */
static int matrix_of_frame(struct context_filter *f, const struct decode_frame *frame,
			   uint64_t *matrix)
{
	bool named = frame->kind == DECODE_FRAME_CALL || frame->kind == DECODE_FRAME_TAIL;
	const uint8_t *parts;

	*matrix = f->frame[0];
	if (!named || frame->func == PCCE_NONE || frame->module == UINT32_MAX)
		return 0;
	parts = parts_of(f, frame->module);
	if (!parts)
		return -ENOMEM;
	*matrix = f->frame[parts[frame->func]];
	return 0;
}

/* The frames up to frame i occur more often. */
static int repeat_frames(struct context_filter *f, size_t i, struct states *s)
{
	const struct decode_frame *last = &f->context.frames[i];
	uint64_t once = PCCE_SET_IDENTITY, matrix;

	for (size_t k = i + 1 - last->span; k <= i; k++) {
		if (matrix_of_frame(f, &f->context.frames[k], &matrix))
			return -ENOMEM;
		once = pcce_set_product(once, matrix);
	}
	for (uint32_t n = last->repeat; n; n /= 2) {
		if (n & 1)
			*s = pass_frames(once, *s);
		once = pcce_set_product(once, once);
	}
	return 0;
}

static int follow_frames(struct context_filter *f, struct states *s)
{
	const struct decode_context *c = &f->context;
	uint64_t matrix;

	for (size_t i = 0; i < c->n; i++) {
		if (c->frames[i].kind == DECODE_FRAME_GAP) {
			*s = pass_gap(f, *s);
			continue;
		}
		if (matrix_of_frame(f, &c->frames[i], &matrix))
			return -ENOMEM;
		*s = pass_frames(matrix, *s);
		if (c->frames[i].repeat && repeat_frames(f, i, s))
			return -ENOMEM;
	}
	/* Instrumented code, but there is no page yet: nobody knows its callers. */
	if (c->status == DECODE_OUTSIDE && c->n && c->frames[0].kind == DECODE_FRAME_CALL)
		*s = pass_gap(f, *s);
	return 0;
}

static int find_answer(struct context_filter *f, const struct decode_space *as,
		       const struct pcce_sample *s, const struct stack_node *below,
		       enum filter_answer *answer)
{
	struct states at = {1, 1};
	uint8_t last = (uint8_t)(1u << f->e->n);
	int r = stack_store_flatten(below, s, &f->flat);

	if (!r)
		r = decode_sample(as, s, f->flat.entries, f->flat.n, false, false, &f->context);
	if (!r)
		r = follow_frames(f, &at);
	*answer = at.certain & last ? FILTER_YES : at.possible & last ? FILTER_UNKNOWN : FILTER_NO;
	return r;
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
		if (find_answer(f, as, s, below, answer))
			return -ENOMEM;
		*c = (struct answered){{state[0], state[1]}, *answer};
	}
	*answer = (enum filter_answer)c->answer;
	return 0;
}
