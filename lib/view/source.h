/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A function's source, with what each line cost: in one context, or in all. */
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
	uint32_t callee; /* the heaviest node that is called here; 0: none, or not known */
};

struct view_source {
	uint32_t name, file;	 /* of the function */
	struct view_line *lines; /* lines[i]: line i + 1 */
	size_t n;
	uint64_t elsewhere;	 /* own weight of code that is in other files, or without a line */
	struct source_file text; /* empty if there is none */
	struct error why;	 /* then the reason */
	struct view_list list;
};

/* Of one node in a tree of contexts. leaf_node[i]: the tree's node of the profile's leaf i, or
 * UINT32_MAX. All these: 0, -ENOMEM, or -ENOENT with a sentence in why if no line is known. */
int view_source_context(struct view_source *v, const struct profile *p, const struct cct *tree,
			const uint32_t *leaf_node, uint32_t node,
			const struct source_file_dirs *dirs, struct error *why);
/* Of a function in all contexts that are selected. */
int view_source_function(struct view_source *v, const struct profile *p, uint32_t module,
			 uint32_t name, const struct source_file_dirs *dirs, struct error *why);
void view_source_free(struct view_source *v);

/* Goes to the line with the largest own weight; or the next one after the current one's weight. */
void view_source_hottest(struct view_source *v, bool next);
bool view_source_search(struct view_source *v, const struct view_share *s, bool backward);
void view_source_draw(struct view_source *v, const struct view_share *s, int top, int height);

#endif
