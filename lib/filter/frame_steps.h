/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Passes decoded frames through the automaton of an expression (pcce/context_set.h), while
 * recording.
 *
 * Two matrices say what frames do: which states they lead to certainly, and which possibly. Frames
 * that are missing remove certain states and add possible ones.
 */
#ifndef PCCE_FILTER_FRAME_STEPS_H
#define PCCE_FILTER_FRAME_STEPS_H

#include "api/expression.h"
#include "decode/context.h"
#include "filter/only_reason.h"
#include "stream/modules.h"

struct frame_matcher;

struct frame_steps {
	uint64_t certain, possible;
};

#define FRAME_STEPS_NONE ((struct frame_steps){PCCE_SET_IDENTITY, PCCE_SET_IDENTITY})

/* NULL: no memory. Both must outlive it. */
struct frame_matcher *frame_matcher_new(const struct record_modules *m, const struct expression *e);
void frame_matcher_free(struct frame_matcher *f);

/* What frames[first .. end) do, after `steps`. 0 or -ENOMEM. */
int frame_matcher_add(struct frame_matcher *f, const struct decode_frame *frames, size_t first,
		      size_t end, struct frame_steps *steps);
/* What any number of unknown frames may do, after `steps`. */
void frame_matcher_add_gap(const struct frame_matcher *f, struct frame_steps *steps);

static inline struct frame_steps frame_steps_product(struct frame_steps a, struct frame_steps b)
{
	return (struct frame_steps){pcce_set_product(a.certain, b.certain),
				    pcce_set_product(a.possible, b.possible)};
}

/* Sets known, seen and any_known. */
void frame_matcher_facts(struct frame_matcher *f, struct only_facts *facts);

#endif
