/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From decoded contexts to the tree: frames become nodes, with names, source lines
 * and the functions that were inlined.
 */
#ifndef PCCE_TREE_BUILDER_H
#define PCCE_TREE_BUILDER_H

#include <stdbool.h>
#include "tree/cct.h"

struct tree_builder;

/* Where an instruction stands. */
struct tree_place {
	uint64_t vaddr;	 /* link-time; 0: unknown */
	uint32_t module; /* UINT32_MAX: none */
};

/* What an inner frame hangs under. */
struct tree_spot {
	uint32_t node;
	struct tree_place call;	     /* from where it is called */
	struct tree_place innermost; /* where its own frame is */
};

struct tree_builder *tree_builder_new(struct cct *tree, struct symbol_table *names, bool inlining);
void tree_builder_free(struct tree_builder *b);

/* Adds all frames of a context but the innermost `without`, which no repetition may reach. 0 or
 * -ENOMEM. */
int tree_builder_add(struct tree_builder *b, const struct decode_space *as,
		     const struct decode_context *ctx, size_t without, struct tree_spot *spot);
/* Adds one frame that is at a place, in two steps, between which the memory that the second needs
 * is on its way: the first gives a number. 0 or -ENOMEM. */
int tree_builder_begin(struct tree_builder *b, const struct tree_spot *spot,
		       enum decode_frame_kind kind, uint32_t func, struct tree_place p,
		       uint32_t *link);
/* The innermost node; UINT32_MAX: no memory. */
uint32_t tree_builder_end(struct tree_builder *b, uint32_t parent, uint32_t link);
/* Adds the kernel below what called it, or faulted, at a place of user code; kip: where in the
 * kernel, 0: unknown. */
uint32_t tree_builder_kernel(struct tree_builder *b, uint32_t parent, uint64_t kip,
			     struct tree_place user);

struct tree_line { /* 0: unknown */
	uint32_t file, line;
};

/* The line at a place. */
void tree_builder_line(const struct tree_builder *b, struct tree_place p, struct tree_line *line);

#endif
