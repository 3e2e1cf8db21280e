/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shows a function's source code with the cost of each line, in one context or in all contexts. */
#ifndef PCCE_VIEW_SOURCE_H
#define PCCE_VIEW_SOURCE_H

#include "tree/cct.h"
#include "profile/profile.h"
#include "symbols/source_file.h"
#include "view/list.h"
#include "view/share.h"
#include "base/error.h"

struct view_line {
	uint64_t self, total;
	uint32_t callee; /* the heaviest node that the line calls; 0: none or unknown */
};

struct view_source {
	uint32_t name, file;	 /* name and file of the function */
	struct view_line *lines; /* lines[i]: line i + 1 */
	size_t n;
	uint64_t elsewhere;	 /* self weight of code in other files or without a line */
	struct source_file text; /* empty if the file cannot be read */
	struct error why;	 /* why the text is empty */
	struct view_list list;
};

/* Collects the lines of one node of a tree. leaf_node[i] is the tree's node of the profile's leaf
 * i, or UINT32_MAX. Both functions return 0, -ENOMEM, or -ENOENT with the reason in why if no line
 * is known. */
int view_source_context(struct view_source *v, const struct profile *p, const struct cct *tree,
			const uint32_t *leaf_node, uint32_t node,
			const struct source_file_dirs *dirs, struct error *why);
/* Collects the lines of a function in all selected contexts. */
int view_source_function(struct view_source *v, const struct profile *p, uint32_t module,
			 uint32_t name, const struct source_file_dirs *dirs, struct error *why);
void view_source_free(struct view_source *v);

/* Goes to the line with the largest self weight, or (next) to the line with the next smaller weight
 * than the current one. */
void view_source_hottest(struct view_source *v, bool next);
bool view_source_search(struct view_source *v, const struct view_share *s, bool backward);
void view_source_draw(struct view_source *v, const struct view_share *s, int top, int height);

#endif
