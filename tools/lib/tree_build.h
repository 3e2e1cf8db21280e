/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Puts decoded contexts into a calling context tree, with inlined functions as
 * frames of their own.
 */
#ifndef PCCE_TREE_BUILD_H
#define PCCE_TREE_BUILD_H

#include <stdbool.h>
#include "tools/lib/cct.h"
#include "tools/lib/decode.h"
#include "tools/lib/names.h"

struct tree_builder;

struct tree_builder *tree_builder_new(struct cct *tree, struct names *names, bool inlining);
void tree_builder_free(struct tree_builder *b);

struct tree_line { /* 0: unknown */
	uint32_t file, line;
};

/* The node in which this context ends, and the line in it; UINT32_MAX: no memory. kip: where the kernel was. */
uint32_t tree_builder_add(struct tree_builder *b, const struct address_space *as, const struct context *ctx,
			  bool in_kernel, uint64_t kip, struct tree_line *line);

#endif
