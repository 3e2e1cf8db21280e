/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Adds decoded contexts to a calling context tree. Frames become nodes with names, source lines and
 * inlined functions.
 */
#ifndef PCCE_TREE_BUILDER_H
#define PCCE_TREE_BUILDER_H

#include <stdbool.h>
#include "tree/cct.h"

struct tree_builder;

/* The place of an instruction. */
struct tree_place {
	uint64_t vaddr;	 /* link-time; 0: unknown */
	uint32_t module; /* UINT32_MAX: none */
};

/* Where an inner frame is added. */
struct tree_spot {
	uint32_t node;
	struct tree_place call;	     /* place of its call */
	struct tree_place innermost; /* place in the innermost frame that was added */
};

struct tree_builder *tree_builder_new(struct cct *tree, struct symbol_table *names, bool inlining);
/* From now on, tree_builder_kernel() adds nothing. */
void tree_builder_leave_out_kernel(struct tree_builder *b);
void tree_builder_free(struct tree_builder *b);

/* Adds all frames of a context except the innermost `without` frames, which no repetition may
 * include. below: where they are added, if ctx is an inner part of the context; else NULL. 0 or
 * -ENOMEM. */
int tree_builder_add(struct tree_builder *b, const struct decode_space *as,
		     const struct decode_context *ctx, const struct tree_spot *below,
		     size_t without, struct tree_spot *spot);
/* Adds one frame at a place, in two steps. The first step returns a link number and prefetches the
 * memory for the second. 0 or -ENOMEM. */
int tree_builder_begin(struct tree_builder *b, const struct tree_spot *spot,
		       enum decode_frame_kind kind, uint32_t func, struct tree_place p,
		       uint32_t *link);
/* Second step: returns the innermost node; UINT32_MAX: no memory. */
uint32_t tree_builder_end(struct tree_builder *b, uint32_t parent, uint32_t link);
/* Adds the kernel below the frame that called it or faulted, at a place of user code. frames: n
 * addresses in the kernel, innermost first; n 0: unknown. Returns the innermost node. */
uint32_t tree_builder_kernel(struct tree_builder *b, uint32_t parent, const uint64_t *frames,
			     size_t n, struct tree_place user);

/* Returns the node below the root for a label; value NULL: for its absence. UINT32_MAX: no
 * memory. */
uint32_t tree_builder_label(struct tree_builder *b, const char *key, const char *value);

struct tree_line { /* 0: unknown */
	uint32_t file, line;
};

/* Finds the line of a place. */
void tree_builder_line(const struct tree_builder *b, struct tree_place p, struct tree_line *line);

#endif
