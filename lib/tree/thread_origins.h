/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Numbers the creation contexts of threads, from 1 in the order of their first use.
 */
#ifndef PCCE_TREE_THREAD_ORIGINS_H
#define PCCE_TREE_THREAD_ORIGINS_H

#include <stdio.h>
#include "tree/builder.h"

struct thread_origins;

/* With names, the contexts are also added to a tree. NULL: no memory. */
struct thread_origins *thread_origins_new(struct symbol_table *names, bool inlining);
void thread_origins_free(struct thread_origins *o);

/* Returns the number of the creation context in the first n entries of a sample (see origin in
 * struct decode_context); UINT32_MAX: no memory. */
uint32_t thread_origins_number(struct thread_origins *o, const struct decode_space *as,
			       uint32_t space, const struct pcce_entry *entries, uint32_t n);
uint32_t thread_origins_count(const struct thread_origins *o);
/* Returns the tree of creation contexts, empty without names. */
const struct cct *thread_origins_tree(const struct thread_origins *o);

/*
 * Returns a creation context as text, outermost function first, with the place of the thread's
 * creation at the end: main → start_workers  pool.c:33. Needs names. The caller frees the text;
 * NULL: no memory.
 */
char *thread_origins_text(const struct thread_origins *o, uint32_t number);

#endif
