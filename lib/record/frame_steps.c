/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See frame_steps.h. Which parts of the expression a function matches is found once for each
 * module. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "record/frame_steps.h"

#define PARTS (1u << EXPRESSION_PARTS)

struct frame_matcher {
	const struct record_modules *modules;
	const struct expression *e;
	uint64_t frame[PARTS];	/* matrix of a function that matches these parts */
	struct frame_steps gap; /* of any number of unknown frames */
	uint8_t **parts;	/* by module, and function; NULL: not needed yet */
	size_t n_modules;
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
	for (unsigned int q = 0; q <= e->n; q++) {
		/* States that all frames leave alone remain certain. */
		f->gap.certain |= f->frame[0] & 1ULL << (8 * q + q);
		f->gap.possible |= all << 8 * q;
	}
	return f;
}

void frame_matcher_free(struct frame_matcher *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n_modules; i++)
		free(f->parts[i]);
	free(f->parts);
	free(f);
}

/* ---- functions ------------------------------------------------------------------- */

static int match_functions(struct frame_matcher *f, uint32_t module)
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
static const uint8_t *parts_of(struct frame_matcher *f, uint32_t module)
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

const char *frame_matcher_missing(struct frame_matcher *f)
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

void frame_matcher_add_gap(const struct frame_matcher *f, struct frame_steps *steps)
{
	*steps = frame_steps_product(*steps, f->gap);
}

static int add_one(struct frame_matcher *f, const struct decode_frame *frame,
		   struct frame_steps *steps)
{
	bool named = frame->kind == DECODE_FRAME_CALL || frame->kind == DECODE_FRAME_TAIL;
	uint64_t matrix = f->frame[0];
	const uint8_t *parts;

	if (frame->kind == DECODE_FRAME_GAP) {
		frame_matcher_add_gap(f, steps);
		return 0;
	}
	if (named && frame->func != PCCE_NONE && frame->module != UINT32_MAX) {
		parts = parts_of(f, frame->module);
		if (!parts)
			return -ENOMEM;
		matrix = f->frame[parts[frame->func]];
	}
	*steps = frame_steps_product(*steps, (struct frame_steps){matrix, matrix});
	return 0;
}

/* The frames up to this one occur more often. */
static int add_repetitions(struct frame_matcher *f, const struct decode_frame *last,
			   struct frame_steps *steps)
{
	struct frame_steps once = FRAME_STEPS_NONE;

	for (const struct decode_frame *frame = last + 1 - last->span; frame <= last; frame++)
		if (add_one(f, frame, &once))
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
		r = add_one(f, &frames[i], steps);
		if (!r && frames[i].repeat)
			r = add_repetitions(f, &frames[i], steps);
	}
	return r;
}
