/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Leaves out samples whose contexts do not fit an expression (pcce-record --only), and counts them.
 * A sample is kept if the answer is not known: it may fit. What is kept has all segments that it
 * needs (stack_store_complete()).
 */
#ifndef PCCE_FILTER_ONLY_H
#define PCCE_FILTER_ONLY_H

#include "api/expression.h"
#include "stream/address_space.h"
#include "stream/modules.h"
#include "stream/stack_store.h"
#include "stream/stream.h"

/* NULL: no memory. All must outlive it. The stage before it keeps the spaces and the stacks. */
struct stream *only_new(const struct record_modules *m, struct address_spaces *spaces,
			struct stack_store *stacks, const struct expression *e, const char *text);

/* Writes why no context fits: only_reason.h. */
void only_explain(struct stream *only, bool kept, char *text, size_t size);

#endif
