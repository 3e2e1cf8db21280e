/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Answers whether the context of a sample fits an expression over functions (api/expression.h),
 * while recording. The context is decoded, and its frames go through the automaton of
 * pcce/context_set.h. So the answer is that of pcce_on_context(), but there is one at any
 * instruction.
 *
 * The context ends where the thread began, unless the expression crosses that. Functions are those
 * of the encoding tables.
 */
#ifndef PCCE_FILTER_CONTEXT_FILTER_H
#define PCCE_FILTER_CONTEXT_FILTER_H

#include "api/expression.h"
#include "decode/decode.h"
#include "filter/only_reason.h"
#include "stream/modules.h"
#include "stream/stack_store.h"

struct context_filter;

enum filter_answer {
	FILTER_NO,
	FILTER_YES,
	FILTER_UNKNOWN, /* a part of the context is not known, and the answer depends on it */
};

/* NULL: no memory. The modules and the expression must outlive it. */
struct context_filter *context_filter_new(const struct record_modules *m,
					  const struct expression *e);
void context_filter_free(struct context_filter *f);

/* layout: of as (address_space.h). below: as in sample_state.h. 0 or -ENOMEM. */
int context_filter_ask(struct context_filter *f, const struct decode_space *as, uint64_t layout,
		       const struct pcce_sample *s, const struct stack_node *below,
		       enum filter_answer *answer);

/* Sets what the filter knows of a reason why nothing fits. */
void context_filter_facts(struct context_filter *f, struct only_facts *facts);

#endif
