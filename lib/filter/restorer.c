/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements the restorer: it unwinds the copy of each sample's stack (stack_unwinder.c). The
 * encoding tables say which code is instrumented, so they say where unwinding stops.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "decode/restored.h"
#include "filter/restorer.h"

/*
 * How much of a stack samples need: twice as much as the one that needed most in the last window.
 * The first windows are short. A sample that needs a word beyond its copy begins a window with
 * twice as many words as lead to that one.
 */
#define NEED_LEAST 64u /* words */
#define WINDOW_FIRST 16u
#define WINDOW_LAST 256u

struct need {
	uint32_t words;	 /* of the samples to come */
	uint32_t most;	 /* of a sample in this window */
	uint32_t window; /* samples */
	uint32_t samples;
};

struct restorer {
	struct address_spaces *spaces;
	struct stack_unwinder unwinder;
	const struct reuse_ops *reuse; /* NULL: unwind all frames of each sample */
	struct reuse *kept;
	struct unwind_sequence frames; /* of the current sample */
	uint64_t unwound, reused;      /* frames so far */
	struct need need;
};

struct restorer *restorer_new(const struct record_modules *m, struct address_spaces *spaces,
			      const struct reuse_ops *reuse)
{
	struct restorer *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->unwinder.modules = m;
	r->need = (struct need){.words = PCCE_COPY_WORDS, .window = WINDOW_FIRST};
	r->spaces = spaces;
	r->reuse = reuse;
	r->kept = reuse ? reuse->new () : NULL;
	if (!reuse || r->kept)
		return r;
	restorer_free(r);
	return NULL;
}

void restorer_free(struct restorer *r)
{
	if (!r)
		return;
	if (r->kept)
		r->reuse->free(r->kept);
	stack_unwinder_free(&r->unwinder);
	free(r->frames.ret);
	free(r);
}

/* Returns twice the words, within the bounds. */
static uint32_t twice(uint64_t words)
{
	if (words < NEED_LEAST / 2)
		return NEED_LEAST;
	return words < PCCE_COPY_WORDS / 2 ? (uint32_t)words * 2 : PCCE_COPY_WORDS;
}

static void note_need(struct need *n, const struct restorer *r, bool partial)
{
	const struct stack_unwinder *u = &r->unwinder;
	uint64_t words = r->frames.n ? (r->frames.end - u->sp) / 8 : 0;

	if (words > n->most)
		n->most = words < PCCE_COPY_WORDS ? (uint32_t)words : PCCE_COPY_WORDS;
	if (partial && u->beyond) {
		if (n->words < twice(u->beyond))
			n->words = twice(u->beyond);
		n->samples = 0;
	}
	if (++n->samples < n->window)
		return;
	n->words = twice(n->most);
	n->most = 0;
	n->samples = 0;
	if (n->window < WINDOW_LAST)
		n->window *= 2;
}

/* whole: down to the thread's beginning, not only to instrumented code. */
static int unwind_sample(struct restorer *r, const struct unwind_state *state, bool whole)
{
	const struct unwind_ops ops = {stack_unwinder_read, stack_unwinder_step,
				       whole ? NULL : stack_unwinder_stop};
	int result = unwind_frames(&ops, &r->unwinder, state, &r->frames);

	r->unwound += r->frames.n;
	return result;
}

int restorer_sample(struct restorer *r, const struct pcce_sample *s, const uint64_t **frames,
		    uint32_t *n, uint32_t *flags)
{
	bool whole = s->flags & PCCE_SAMPLE_OUTSIDE, helper;
	const struct decode_space *as;
	struct unwind_state state;
	uint64_t layout;
	int result;

	*n = 0;
	*flags = 0;
	as = address_spaces_now(r->spaces, s->pid, &layout);
	if (!as)
		return -ENOMEM;
	if (!whole && restored_is_instrumented(as, s->ip, &helper))
		return 0;
	*flags = PCCE_SAMPLE_FRAMES | PCCE_SAMPLE_FRAMES_PARTIAL;
	if (s->n_stack < PCCE_COPY_REGISTERS)
		return 0;
	stack_unwinder_begin(&r->unwinder, as, s, &state);
	if (r->reuse) {
		const struct reuse_sample sample = {s->pid, s->tid, layout, whole};

		result = r->reuse->unwind(r->kept, &r->unwinder, &sample, &state, &r->frames,
					  &r->unwound, &r->reused);
	} else {
		result = unwind_sample(r, &state, whole);
	}
	if (result < 0)
		return -ENOMEM;
	note_need(&r->need, r, result != UNWIND_COMPLETE);
	*frames = r->frames.ret;
	*n = (uint32_t)r->frames.n;
	if (result == UNWIND_COMPLETE)
		*flags = PCCE_SAMPLE_FRAMES;
	return 0;
}

uint32_t restorer_need(const struct restorer *r)
{
	return r->need.words;
}

void restorer_count(const struct restorer *r, struct pcce_rec_frames *rec)
{
	rec->unwound = r->unwound;
	rec->reused = r->reused;
}
