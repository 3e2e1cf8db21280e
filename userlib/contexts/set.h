/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the sets of contexts in memory (set.c), which on_context.c tests. */
#ifndef PCCE_USERLIB_CONTEXT_SET_H
#define PCCE_USERLIB_CONTEXT_SET_H

#include <pcce/context_set.h>
#include "contexts/modules.h"

#define BELOW_SIZE 256 /* a power of two */

/* What is known of a complete segment and all below it. */
struct set_below {
	uint64_t page, generation;
	/* For each state with which its newest entry is reached: are all parts found, certainly or
	 * possibly? */
	uint64_t certain, possible;
	uint64_t callee; /* of the call in its newest entry */
	uint64_t check;
};

struct pcce_contexts {
	uint64_t size; /* of the mapping */
	const struct pcce_set_module *modules;
	const struct pcce_set_func *funcs;
	const struct pcce_set_range *ranges;
	const struct pcce_set_place *places;
	const struct pcce_set_glue *glue;
	const struct pcce_set_module *program; /* NULL: the program is not in the set */
	uint64_t reserved;
	struct set_below below[BELOW_SIZE];
	struct pcce_set head; /* the file follows */
};

#endif
