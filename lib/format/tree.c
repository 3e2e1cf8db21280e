/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Prints the calling context tree as text: from callers to callees (format_tree), or from the
 * sampled functions to their callers (format_callees).
 */
#include "tree/bottom_up.h"
#include "format/frame_text.h"
#include "format/tree_print.h"

int format_tree(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct tree_print t = {.profile = p, .options = o, .out = out};
	struct cct merged;
	int r = cct_merge(&p->tree, CCT_MERGE_LINES, &merged);

	if (r)
		return r;
	r = cct_finish(&merged, p->names);
	if (!r && o->sort.n)
		r = cct_sort(&merged, p->names, &o->sort);
	if (!r) {
		t.tree = &merged;
		frame_text_head(p, out);
		r = tree_print(&t);
	}
	cct_free(&merged);
	return r;
}

/* Expands the nodes that will be printed, level by level. */
static int expand_heavy(struct bottom_up *c, const struct format_options *o)
{
	double least = (double)c->tree.nodes[0].total * o->min_percent / 100;
	unsigned int depth = 1;
	int r = 0;

	for (uint32_t i = 1, end = c->tree.n; i < c->tree.n && !r; i++) {
		if (i == end) {
			end = c->tree.n;
			depth++;
		}
		if ((double)c->tree.nodes[i].total >= least &&
		    (!o->max_depth || depth <= o->max_depth))
			r = bottom_up_expand(c, i);
	}
	return r;
}

int format_callees(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct tree_print t = {.profile = p, .options = o, .upwards = true, .out = out};
	struct bottom_up c;
	int r = bottom_up_begin(&c, &p->tree, p->names, p->own_lines, &o->sort);

	if (r)
		return r;
	r = expand_heavy(&c, o);
	if (!r) {
		t.tree = &c.tree;
		frame_text_head(p, out);
		r = tree_print(&t);
	}
	bottom_up_free(&c);
	return r;
}
