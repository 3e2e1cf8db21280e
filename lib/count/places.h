/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Knows the places of all modules that are counted: their numbers, where they are, and which
 * addresses are in which stubs. A module at two places counts twice. Numbers and stubs belong to
 * one module in all processes.
 *
 * One thread may add modules while others look them up. Modules are never removed.
 */
#ifndef PCCE_COUNT_PLACES_H
#define PCCE_COUNT_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "count/plan.h"

struct count_module {
	const struct count_plan *plan;
	uint64_t bias, stubs, stubs_end;
	uint32_t first; /* number of its first place */
	size_t index;	/* in the order in which they were added: the executable has 0 */
};

struct count_places;

/* stub_size: of all stubs. NULL: no memory. */
struct count_places *count_places_new(size_t stub_size);
void count_places_free(struct count_places *p);

/* Returns 0 or -ENOMEM. first has to be count_places_next(). */
int count_places_add(struct count_places *p, const struct count_module *m);
uint32_t count_places_next(const struct count_places *p);

/* The run-time address of a place, and the index of its module. 0: there is no such place. */
uint64_t count_places_address(struct count_places *p, uint64_t number, size_t *module);

/*
 * Is the address in a stub? Then *in_function is the address in the function that has the same
 * state, or 0 if there is none.
 */
bool count_places_in_stub(struct count_places *p, uint64_t address, uint64_t *in_function);

/* Does [start, end) contain a part of any stubs? Then *free is the start of these. */
bool count_places_overlap(struct count_places *p, uint64_t start, uint64_t end, uint64_t *free);

#endif
