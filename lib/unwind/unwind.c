/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See unwind.h. */
#include <errno.h>
#include "base/array.h"
#include "unwind/unwind.h"

void unwind_leave(unwind_read *read, void *ctx, const struct unwind_frame *f,
		  struct unwind_state *state)
{
	state->pc = f->ret;
	state->sp = f->sp;
	state->inner = f->interrupted;
	state->known &= ~f->lost;
	for (unsigned int i = 0; i < UNWIND_REGISTERS; i++) {
		if (!f->saved[i])
			continue;
		if (read(ctx, f->saved[i], &state->reg[i]))
			state->known |= 1u << i;
		else
			state->known &= ~(1u << i);
	}
}

bool unwind_is_possible(const struct unwind_frame *f, const struct unwind_state *state,
			uint64_t first)
{
	return (f->at >= state->sp || f->interrupted) && (f->sp > state->sp || f->sp < first);
}

int unwind_frames(const struct unwind_ops *ops, void *ctx, const struct unwind_state *from,
		  struct unwind_sequence *s)
{
	enum unwind_step step = UNWIND_STEP_FRAME;
	struct unwind_state state = *from;
	struct unwind_frame f;
	bool stopped = false;

	s->n = 0;
	while (s->n < UNWIND_FRAMES_MAX && !stopped) {
		step = ops->unwind(ctx, &state, &f);
		if (step != UNWIND_STEP_FRAME || !unwind_is_possible(&f, &state, from->sp))
			break;
		if (array_reserve(&s->ret, &s->capacity, s->n + 1, sizeof(*s->ret)))
			return -ENOMEM;
		s->ret[s->n++] = f.ret;
		unwind_leave(ops->read, ctx, &f, &state);
		stopped = ops->stop && ops->stop(ctx, state.pc);
	}
	s->end = state.sp;
	if (stopped || step == UNWIND_STEP_END)
		return UNWIND_COMPLETE;
	return s->n ? UNWIND_PARTIAL : UNWIND_FAILED;
}
