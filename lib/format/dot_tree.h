/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes the tree of hot contexts for Graphviz. */
#ifndef PCCE_FORMAT_DOT_TREE_H
#define PCCE_FORMAT_DOT_TREE_H

#include "format/format.h"

/* The profile's tree must be pruned (hot_tree.h). 0 or -ENOMEM. */
int dot_tree_print(const struct profile *p, const struct format_options *o, FILE *out);

/* Writes text as part of a quoted string of a dot file. */
void dot_text_put(const char *text, FILE *out);

#endif
