/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* An address space as a sorted array of mappings. */
#ifndef PCCE_DECODE_MAPS_H
#define PCCE_DECODE_MAPS_H

#include "decode/context.h"

struct decode_maps {
	struct decode_space as;	    /* first: find() gets back from it */
	struct decode_module *list; /* sorted by start, disjoint */
	size_t n;
	const struct decode_module *main; /* NULL: none of them is the main executable */
};

/* list stays the caller's. Called again after each change of it. */
void decode_maps_set(struct decode_maps *m, struct decode_module *list, size_t n);
/* The first mapping that ends behind the address, as an index; n if there is none. */
size_t decode_maps_behind(const struct decode_maps *m, uint64_t address);

#endif
