/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The encoding stacks of a recording's threads, put together from what samples bring.
 *
 * A sample holds the newest, incomplete segment, and of those below it only what no earlier sample
 * of the thread has brought (struct pcce_sample).  Equal stacks are kept once, also those of
 * different threads: a node stands for a segment with all that is below it.
 */
#ifndef PCCE_RECORDING_STACK_STORE_H
#define PCCE_RECORDING_STACK_STORE_H

#include <stddef.h>
#include <stdint.h>
#include <pcce/abi.h>

struct stack_node;
struct stack_store;

struct stack_store *stack_store_new(void); /* NULL: no memory */
void stack_store_free(struct stack_store *all);

/*
 * The samples of each thread in the order of time.  *below: what is below the sample's own entries,
 * as far as it is known; NULL if nothing is (or there is nothing).  It lives as long as all. 0 or
 * -ENOMEM.
 */
int stack_store_take(struct stack_store *all, const struct pcce_sample *s,
		     const struct stack_node **below);

/* The same for equal stacks only; 0 for none. */
uint64_t stack_store_hash(const struct stack_node *below);

struct stack_store_flat {
	struct pcce_entry *entries;
	uint32_t n, capacity;
};

/* For those who make stacks themselves. A segment with all that is below it; NULL: no memory. */
const struct stack_node *stack_store_intern(struct stack_store *all, const struct stack_node *below,
					    const struct pcce_entry *entries);
const struct stack_node *
stack_store_below(const struct stack_node *node); /* NULL: it is the lowest that is known */
const struct pcce_entry *
stack_store_entries(const struct stack_node *node); /* PCCE_SEGMENT_ENTRIES */

/* The known entries, oldest first, with the sample's own ones last. The buffer grows, and is
 * reused. 0 or -ENOMEM. */
int stack_store_flatten(const struct stack_node *below, const struct pcce_sample *s,
			struct stack_store_flat *out);

#endif
