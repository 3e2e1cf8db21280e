/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Where threads come from: the chains of calls that created them, numbered from 1 in the order in which they are met.
 */
#ifndef PCCE_TREE_THREAD_ORIGINS_H
#define PCCE_TREE_THREAD_ORIGINS_H

#include <stdio.h>
#include "tree/builder.h"

struct origins;

/* With names, the chains go into a tree, too. NULL: no memory. */
struct origins *origins_new(struct names *names, bool inlining);
void origins_free(struct origins *o);

/* The number of the origin that the first n of a sample's entries tell of (struct context, origin); UINT32_MAX: no
 * memory. */
uint32_t origins_number(struct origins *o, const struct address_space *as, uint32_t space,
			const struct pcce_entry *entries, uint32_t n);
uint32_t origins_count(const struct origins *o);

/* Of a number, with names: outermost function first, and where the thread was created at the end:
 * main > start_workers  pool.c:33 */
void origins_print(const struct origins *o, uint32_t number, FILE *out);
/* The same, to be freed; NULL: no memory. */
char *origins_text(const struct origins *o, uint32_t number);
/* Calls for each function, outermost first; returns the first result that is not 0, or 0. */
int origins_frames(const struct origins *o, uint32_t number, int (*each)(void *ctx, const char *name), void *ctx);

#endif
