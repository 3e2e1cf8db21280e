/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps what the stages behind it need to know of the recorded processes: their address spaces and
 * the encoding stacks of their threads. Each sample gets the known part of its stack. Stacks that
 * nothing refers to are freed when there are many new segments.
 */
#ifndef PCCE_FILTER_STATE_H
#define PCCE_FILTER_STATE_H

#include "filter/context_keys.h"
#include "stream/address_space.h"
#include "stream/modules.h"
#include "stream/stack_store.h"
#include "stream/stream.h"

struct state {
	struct stream stream;
	struct address_spaces *spaces;
	struct context_keys *keys;
	struct stack_store *stacks;
	size_t swept; /* segments after the last sweep */
};

/* The modules must outlive it. NULL: no memory. */
struct state *state_new(const struct record_modules *m);

#endif
