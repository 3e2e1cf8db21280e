/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Applies a selection to a tree in up to three passes. Each pass makes a new tree, and passes that
 * the selection does not need are skipped:
 *
 *   cut    only contexts below certain functions; removes call addresses and lines
 *   split  a frame for each line of a function; or files or modules instead of functions
 *   fold   recursion
 *
 * Each pass makes a node's image from its parent's image. Repetition needs care: a node can
 * represent N repetitions of itself and the span - 1 nodes below it. Sometimes only a part of the
 * first repetition remains: --under names its second function, or recursion merges its first
 * function into the frame above. Then this part is written out, followed by the other N - 1
 * repetitions.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tree/select_tree.h"

#define FOCUSED 1u
#define IGNORED 2u
#define UNDER 4u

/* ---- selecting contexts ---------------------------------------------------------- */

/* By name: FOCUSED, IGNORED and UNDER, computed once. */
struct judged {
	uint8_t *of;
	size_t n;
};

#define NOT_ASKED 0xff

/* A user may have copied the short name from a report. */
static uint8_t judge_name(const struct selection *s, const char *full, const char *shorter)
{
	bool focused = select_pattern(&s->focus, full) || select_pattern(&s->focus, shorter),
	     ignored = select_pattern(&s->ignore, full) || select_pattern(&s->ignore, shorter);

	return (focused ? FOCUSED : 0) | (ignored ? IGNORED : 0) |
	       (select_function(s, full) ? UNDER : 0);
}

static int judge_names(const struct cct *t, const struct symbol_table *names,
		       const struct selection *s, struct judged *j)
{
	j->n = symbol_table_count(names);
	j->of = malloc(j->n + 1);
	if (!j->of)
		return -ENOMEM;
	memset(j->of, NOT_ASKED, j->n + 1);
	for (size_t i = 1; i < t->n; i++) {
		uint32_t name = t->nodes[i].key->name;

		if (j->of[name] == NOT_ASKED)
			j->of[name] = judge_name(s, symbol_table_string(names, name),
						 symbol_table_short(names, name));
	}
	return 0;
}

int select_contexts(const struct cct *all, const struct symbol_table *names,
		    const struct selection *s, uint8_t *keep)
{
	uint8_t wanted = (s->focus.n ? FOCUSED : 0) | (s->under.n ? UNDER : 0);
	struct judged judged;

	if (judge_names(all, names, s, &judged))
		return -ENOMEM;
	keep[0] = 0;
	for (size_t i = 1; i < all->n; i++)
		keep[i] = keep[all->nodes[i].parent] | judged.of[all->nodes[i].key->name];
	for (size_t i = 0; i < all->n; i++)
		keep[i] = (keep[i] & wanted) == wanted && !(keep[i] & IGNORED);
	free(judged.of);
	return 0;
}

/* ---- one pass -------------------------------------------------------------------- */

struct place_in_group {
	uint32_t head; /* the repeated node, 0: the node is in no group */
	uint32_t left; /* nodes of the group below this one */
	bool broken;   /* a part of the first repetition was removed */
};

struct pass {
	const struct cct *from;
	struct cct *to;
	const struct selection *selection;
	struct symbol_table *names;
	const struct judged *judged; /* in the pass cut */
	bool *needed;		     /* a leaf is at or below the node */
	uint32_t *image;
	struct place_in_group *groups;
	bool *inside; /* in the pass cut: at or below a selected function */
};

static void mark_needed(struct pass *p, const struct tree_leaf *leaves, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (tree_leaf_is_selected(&leaves[i]))
			for (uint32_t k = leaves[i].node; !p->needed[k];
			     k = p->from->nodes[k].parent)
				p->needed[k] = true;
}

/* Whether this is a function, not a gap or a signal. */
static bool is_function_frame(const struct cct_key *k)
{
	return k->kind == DECODE_FRAME_CALL || k->kind == DECODE_FRAME_TAIL ||
	       k->kind == DECODE_FRAME_FOREIGN;
}

/* Returns the node of a group i nodes above `last`, its last one. */
static uint32_t group_node(const struct pass *p, uint32_t last, uint32_t i)
{
	while (i--)
		last = p->from->nodes[last].parent;
	return last;
}

static struct place_in_group place_in_group(const struct pass *p, uint32_t n)
{
	const struct cct_node *node = &p->from->nodes[n];
	struct place_in_group g = p->groups[node->parent];

	if (node->key->repeat)
		return (struct place_in_group){.head = n, .left = node->key->span - 1};
	if (!g.left)
		return (struct place_in_group){0};
	g.left--;
	return g;
}

static void blur_call(enum select_calls calls, struct cct_key *key)
{
	if (calls >= SELECT_CALLS_LINE)
		key->call = 0;
	if (calls == SELECT_CALLS_NONE)
		key->file = key->line = 0;
}

/* Adds the repetitions after the first one below `at`, where the first one ends. */
static uint32_t repeat_rest(struct pass *p, uint32_t last, uint32_t at)
{
	const struct cct_node *nodes = p->from->nodes;
	uint32_t head = p->groups[last].head, span = nodes[head].key->span;

	for (uint32_t i = span; i-- > 0 && at != UINT32_MAX;) {
		uint32_t n = group_node(p, last, i);
		struct cct_key key = *nodes[n].key;

		if (n == head && --key.repeat == 0)
			key.span = 0;
		blur_call(p->selection->calls, &key);
		at = cct_child(p->to, at, &key);
	}
	return at;
}

static uint32_t cut_node(struct pass *p, uint32_t n)
{
	const struct cct_node *node = &p->from->nodes[n];
	struct place_in_group *g = &p->groups[n];
	struct cct_key key = *node->key;
	uint32_t at;

	blur_call(p->selection->calls, &key);
	if (p->selection->under.n && !p->inside[node->parent]) {
		if (!(p->judged->of[key.name] & UNDER)) {
			g->broken = g->head;
			return 0;
		}
		/* The call of the outermost shown frame is above it. */
		key.call = key.file = key.line = 0;
	}
	p->inside[n] = true;
	at = cct_child(p->to, p->image[node->parent], &key);
	return g->broken && !g->left && at != UINT32_MAX ? repeat_rest(p, n, at) : at;
}

/* ---- recursion ----------------------------------------------------------------------- */

static bool same_function(const struct cct_key *a, const struct cct_key *b)
{
	return is_function_frame(a) && is_function_frame(b) && a->name == b->name &&
	       a->module == b->module;
}

/* Returns the frame at or above `at` into which a call of key is folded; 0: none. */
static uint32_t fold_into(const struct pass *p, uint32_t at, const struct cct_key *key)
{
	for (; at; at = p->to->nodes[at].parent) {
		if (same_function(p->to->nodes[at].key, key))
			return at;
		if (p->selection->recursion == SELECT_RECURSION_DIRECT)
			return 0;
	}
	return 0;
}

static uint32_t fold_plain(struct pass *p, uint32_t at, struct cct_key key)
{
	uint32_t found = fold_into(p, at, &key);

	key.repeat = key.span = 0;
	return found ? found : cct_child(p->to, at, &key);
}

/*
 * Folds direct recursion in a repeated group. From its second repetition on, each one loses the
 * frames that equal the frame before them. The frame before the group's first frame is its last
 * frame. The rest is repeated. If the first repetition loses other frames, it is written out first.
 */
static uint32_t fold_group(struct pass *p, uint32_t last)
{
	const struct cct_node *nodes = p->from->nodes;
	uint32_t head = p->groups[last].head, repeat = nodes[head].key->repeat,
		 at = p->image[nodes[head].parent];
	const struct cct_key *before = nodes[last].key;
	uint32_t kept = 0;
	bool first_differs;

	first_differs =
		same_function(before, nodes[head].key) != !!fold_into(p, at, nodes[head].key);
	for (uint32_t i = nodes[head].key->span; i-- > 0;) {
		const struct cct_key *key = nodes[group_node(p, last, i)].key;

		kept += !same_function(before, key);
		before = key;
	}
	if (first_differs || !kept) {
		for (uint32_t i = nodes[head].key->span; i-- > 0 && at != UINT32_MAX;)
			at = fold_plain(p, at, *nodes[group_node(p, last, i)].key);
		repeat--;
	}
	before = nodes[last].key;
	for (uint32_t i = nodes[head].key->span, begun = 0; kept && i-- > 0 && at != UINT32_MAX;) {
		struct cct_key key = *nodes[group_node(p, last, i)].key;

		if (!same_function(before, &key)) {
			before = nodes[group_node(p, last, i)].key;
			key.repeat = begun ? 0 : repeat;
			key.span = begun || !repeat ? 0 : kept;
			begun = 1;
			at = cct_child(p->to, at, &key);
		}
	}
	return at;
}

static uint32_t fold_node(struct pass *p, uint32_t n)
{
	const struct place_in_group *g = &p->groups[n];
	uint32_t parent = p->image[p->from->nodes[n].parent];

	if (!g->head || p->selection->recursion == SELECT_RECURSION_ALL)
		return fold_plain(p, parent, *p->from->nodes[n].key);
	/* A group is folded as a whole. No context ends in it. */
	return g->left ? parent : fold_group(p, n);
}

static int pass_begin(struct pass *p, const struct tree_leaf *leaves, size_t n_leaves)
{
	size_t n = p->from->n;

	p->needed = calloc(n, sizeof(*p->needed));
	p->inside = calloc(n, sizeof(*p->inside));
	p->image = calloc(n, sizeof(*p->image));
	p->groups = calloc(n, sizeof(*p->groups));
	if (!p->needed || !p->inside || !p->image || !p->groups || cct_init(p->to))
		return -ENOMEM;
	p->needed[0] = true;
	mark_needed(p, leaves, n_leaves);
	return 0;
}

static void pass_end(struct pass *p)
{
	free(p->needed);
	free(p->inside);
	free(p->image);
	free(p->groups);
}

static int make_images(struct pass *p, uint32_t (*make)(struct pass *p, uint32_t n),
		       struct tree_leaf *leaves, size_t n_leaves)
{
	int r = pass_begin(p, leaves, n_leaves);

	for (uint32_t n = 1; n < p->from->n && !r; n++) {
		if (!p->needed[n])
			continue;
		p->groups[n] = place_in_group(p, n);
		p->image[n] = make(p, n);
		if (p->image[n] == UINT32_MAX)
			r = -ENOMEM;
	}
	for (size_t i = 0; i < n_leaves && !r; i++)
		if (tree_leaf_is_selected(&leaves[i]))
			leaves[i].node = p->image[leaves[i].node];
	pass_end(p);
	return r;
}

/* ---- frames by file, line or module -------------------------------------------------- */

static void rename_frame(const struct pass *p, struct cct_key *key, uint32_t file, uint32_t line)
{
	key->call = 0;
	key->file = key->line = 0;
	if (p->selection->by == SELECT_BY_LINE) {
		key->file = file;
		key->line = line;
		return;
	}
	if (!is_function_frame(key))
		return;
	key->func = PCCE_NONE;
	key->flags &= CCT_KERNEL;
	if (p->selection->by == SELECT_BY_FILE && file)
		key->name = file;
	else if (key->module != UINT32_MAX)
		key->name = symbol_table_intern(p->names, symbol_table_path(p->names, key->module));
}

/*
 * Makes a frame for each line. A frame's own line is that of the call of the next frame. So the
 * frame has one image for each next frame n: image[n] is the image of n's parent where it calls n.
 */
static int split_frames(struct pass *p, struct tree_leaf *leaves, size_t n_leaves)
{
	const struct cct_node *nodes = p->from->nodes;
	int r = pass_begin(p, leaves, n_leaves);
	struct cct_key key;

	for (uint32_t n = 1; n < p->from->n && !r; n++) {
		uint32_t parent = nodes[n].parent;

		if (!p->needed[n] || !parent)
			continue;
		key = *nodes[parent].key;
		rename_frame(p, &key, nodes[n].key->file, nodes[n].key->line);
		p->image[n] = cct_child(p->to, p->image[parent], &key);
		if (p->image[n] == UINT32_MAX)
			r = -ENOMEM;
	}
	for (size_t i = 0; i < n_leaves && !r; i++) {
		if (!tree_leaf_is_selected(&leaves[i]))
			continue;
		key = *nodes[leaves[i].node].key;
		rename_frame(p, &key, leaves[i].file, leaves[i].line);
		leaves[i].node = cct_child(p->to, p->image[leaves[i].node], &key);
		if (leaves[i].node == UINT32_MAX)
			r = -ENOMEM;
	}
	pass_end(p);
	return r;
}

/* ---- the whole ------------------------------------------------------------------- */

int select_tree(const struct cct *all, struct symbol_table *names, const struct selection *s,
		struct tree_leaf *leaves, size_t n_leaves, struct cct *to)
{
	struct pass p = {.from = all, .to = to, .selection = s, .names = names};
	struct judged judged;
	struct cct first;
	int r = judge_names(all, names, s, &judged);

	*to = (struct cct){0};
	if (r)
		return r;
	p.judged = &judged;
	r = make_images(&p, cut_node, leaves, n_leaves);
	if (!r && s->by) {
		first = *to;
		p.from = &first;
		r = split_frames(&p, leaves, n_leaves);
		cct_free(&first);
	}
	if (!r && s->recursion) {
		first = *to;
		p.from = &first;
		r = make_images(&p, fold_node, leaves, n_leaves);
		cct_free(&first);
	}
	free(judged.of);
	if (r) {
		cct_free(to);
		return r;
	}
	for (size_t i = 0; i < n_leaves; i++) {
		if (!tree_leaf_is_selected(&leaves[i]))
			continue;
		to->nodes[leaves[i].node].self += leaves[i].weight;
		to->nodes[leaves[i].node].samples += leaves[i].samples;
		to->nodes[leaves[i].node].error += leaves[i].error;
		to->nodes[leaves[i].node].cost += leaves[i].cost;
	}
	return 0;
}
