/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps what the stages behind it need to know of the recorded processes: their address spaces and
 * the encoding stacks of their threads. Each sample gets the known part of its stack.
 *
 * A sampler may count itself (pcce/places.h). Then some samples claim a place, and the sampler
 * later says how many equal samples the place has counted. This stage makes an event of these. What
 * is equal depends on classes of addresses (context_keys.h), which it tells the sampler. A class
 * holds in one epoch of its process (address_space.h). The sampler learns late that an epoch has
 * ended. So if the process of a place has begun another epoch since the place's class was found,
 * what the place counted is undecodable: it has PCCE_SAMPLE_MIXED.
 */
#ifndef PCCE_FILTER_STATE_H
#define PCCE_FILTER_STATE_H

#include "filter/context_keys.h"
#include "sampler/sampler.h"
#include "stream/address_space.h"
#include "stream/modules.h"
#include "stream/stack_store.h"

struct state {
	struct stream stream;
	struct address_spaces *spaces;
	struct context_keys *keys;
	struct stack_store *stacks;
	size_t swept; /* segments after the last sweep */
	const struct active_sampler *sampler;
	bool kernel, refuse;
	struct claimed *claimed;
	uint32_t n_claimed;
};

/*
 * kernel: contexts have functions of the kernel, which have classes, too. refuse: tell the sampler
 * which claims were left out. The modules and the sampler must outlive it. NULL: no memory.
 */
struct state *state_new(const struct record_modules *m, const struct active_sampler *sampler,
			bool kernel, bool refuse);

#endif
