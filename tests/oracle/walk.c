// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* Implements the two walks over frames; see walk.h. */
#include "tests/oracle/walk.h"

static void add_left(struct between *b, uint64_t name)
{
	if (b->n < BETWEEN_MAX)
		b->left[b->n++] = name;
	else
		b->overflow = true;
}

static const struct decode_frame *next_frame(struct walk_context *w)
{
	const struct decode_frame *f;

	if (w->at >= w->ctx->n)
		return NULL;
	f = &w->ctx->frames[w->at];
	if (w->done < f->repeat) {
		w->done++;
		w->at -= f->span - 1;
	} else {
		if (f->repeat)
			w->done = 0;
		w->at++;
	}
	return f;
}

const struct decode_frame *walk_context_next(struct walk_context *w, struct between *before)
{
	const struct decode_frame *f;

	before->n = 0;
	before->foreign = before->passed_foreign = before->came_back = before->overflow = false;
	while ((f = next_frame(w))) {
		if (f->kind == DECODE_FRAME_FOREIGN)
			before->foreign = true;
		else if (f->kind == DECODE_FRAME_TAIL)
			add_left(before, left_name(f->module, f->func));
		else
			break;
	}
	return f;
}

void walk_chain_begin(struct walk_chain *w, const struct chain *c)
{
	w->c = c;
	w->at = c->n;
}

bool walk_chain_next(struct walk_chain *w, struct between *before, struct seen_frame *frame)
{
	const struct chain *c = w->c;
	bool found = false;

	before->n = 0;
	before->foreign = before->passed_foreign = before->came_back = before->overflow = false;
	/* What an activation was before belongs to what is outside of its frame. */
	if (w->at < c->n) {
		const struct activation *a = &c->a[w->at];
		size_t end = w->at + 1 < c->n ? c->a[w->at + 1].first_left : c->n_left;

		if (a->kind == ACTIVATION_CALL && a->func != PCCE_NONE) {
			before->passed_foreign |= a->was_foreign;
			before->came_back |= a->came_back;
			while (end > a->first_left)
				add_left(before, c->left[--end]);
		}
	}
	while (w->at > 0 && !found) {
		const struct activation *a = &c->a[--w->at];
		size_t end = w->at + 1 < c->n ? c->a[w->at + 1].first_left : c->n_left;

		found = a->kind == ACTIVATION_SIGNAL ? !a->hidden : a->func != PCCE_NONE;
		if (found) {
			if (frame)
				*frame = (struct seen_frame){a->kind == ACTIVATION_SIGNAL, a};
			continue;
		}
		before->foreign = true;
		before->came_back |= a->came_back;
		while (end > a->first_left)
			add_left(before, c->left[--end]);
	}
	return found;
}
