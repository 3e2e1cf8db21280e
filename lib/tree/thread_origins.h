/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where threads come from: the chains of calls that created them, numbered from 1 in the order in
 * which they are met.
 */
#ifndef PCCE_TREE_THREAD_ORIGINS_H
#define PCCE_TREE_THREAD_ORIGINS_H

#include <stdio.h>
#include "tree/builder.h"

struct thread_origins;

/* With names, the chains go into a tree, too. NULL: no memory. */
struct thread_origins *thread_origins_new(struct symbol_table *names, bool inlining);
void thread_origins_free(struct thread_origins *o);

/* The number of the origin that the first n of a sample's entries tell of (struct decode_context,
 * origin); UINT32_MAX: no memory. */
uint32_t thread_origins_number(struct thread_origins *o, const struct decode_space *as,
			       uint32_t space, const struct pcce_entry *entries, uint32_t n);
uint32_t thread_origins_count(const struct thread_origins *o);

/* Of a number, with names: outermost function first, and where the thread was created at the end:
 * main > start_workers  pool.c:33 */
void thread_origins_print(const struct thread_origins *o, uint32_t number, FILE *out);
/* The same, to be freed; NULL: no memory. */
char *thread_origins_text(const struct thread_origins *o, uint32_t number);
/* Calls for each function, outermost first; returns the first result that is not 0, or 0. */
int thread_origins_frames(const struct thread_origins *o, uint32_t number,
			  int (*each)(void *ctx, const char *name), void *ctx);

#endif
