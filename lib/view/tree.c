/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Implements a tree that can be opened and closed, as an array of visible rows. It builds all rows
 * again after each change. As in the printed tree, a chain of only children stays in one column.
 * Trees can be too deep for recursion, so loops use explicit stacks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/text.h"
#include "format/frame_text.h"
#include "view/columns.h"
#include "view/screen.h"
#include "view/tree.h"

#define OPEN 1u
#define LIGHT 2u /* its light children are visible */

#define NO_ROW UINT32_MAX
#define FIRST_ROWS 400	    /* most rows that are open initially */
#define FIRST_PERCENT 5	    /* least percentage of branches that are open initially */
#define OPEN_MAX (1u << 20) /* most rows after opening all */

static int reserve_nodes(struct view_tree *v)
{
	size_t want = v->tree->n;
	uint8_t *flags;
	uint32_t *row_of;

	if (want <= v->capacity)
		return 0;
	want += want / 2;
	flags = realloc(v->flags, want);
	if (!flags)
		return -ENOMEM;
	memset(flags + v->capacity, 0, want - v->capacity);
	v->flags = flags;
	row_of = reallocarray(v->row_of, want, sizeof(*row_of));
	if (!row_of)
		return -ENOMEM;
	for (size_t i = v->capacity; i < want; i++)
		row_of[i] = NO_ROW;
	v->row_of = row_of;
	v->capacity = want;
	return 0;
}

static bool has_children(const struct view_tree *v, uint32_t node)
{
	return v->callees ? bottom_up_has_children(v->callees, node)
			  : v->tree->nodes[node].child != 0;
}

static int set_open(struct view_tree *v, uint32_t node)
{
	if (v->callees && node) {
		int r = bottom_up_expand(v->callees, node);

		if (!r)
			r = reserve_nodes(v);
		if (r)
			return r;
	}
	v->flags[node] |= OPEN;
	return 0;
}

/* ---- rows ------------------------------------------------------------------------ */

static bool is_child_shown(const struct view_tree *v, uint32_t child)
{
	const struct cct_node *n = &v->tree->nodes[child];

	return n->total >= v->least || v->flags[n->parent] & LIGHT;
}

static uint32_t first_shown(const struct view_tree *v, uint32_t child)
{
	while (child && !is_child_shown(v, child))
		child = v->tree->nodes[child].next;
	return child;
}

/* Counts children with a row, and those without (*hidden). */
static size_t count_children(const struct view_tree *v, uint32_t node, size_t *hidden)
{
	size_t shown = 0;

	*hidden = 0;
	for (uint32_t c = v->tree->nodes[node].child; c; c = v->tree->nodes[c].next) {
		if (is_child_shown(v, c))
			shown++;
		else
			++*hidden;
	}
	return shown;
}

static int add_tree_row(struct view_tree *v, const struct view_row *row)
{
	if (array_grow_from(&v->rows, v->list.n, &v->rows_capacity, 256, sizeof(*v->rows)))
		return -ENOMEM;
	if (!row->hidden)
		v->row_of[row->node] = v->list.n;
	v->rows[v->list.n++] = *row;
	return 0;
}

struct level { /* an open node while rows are built */
	uint32_t node, column;
	size_t hidden,
		left; /* hidden: children without a row; left: rows of children still to make */
	bool branches;
};

struct levels {
	struct level *list;
	size_t n, capacity;
};

static int enter_node(const struct view_tree *v, struct levels *l, uint32_t node, uint32_t column)
{
	struct level *to;

	if (array_grow_from(&l->list, l->n, &l->capacity, 64, sizeof(*to)))
		return -ENOMEM;
	to = &l->list[l->n++];
	*to = (struct level){.node = node};
	to->left = count_children(v, node, &to->hidden);
	to->left += to->hidden > 0;
	to->branches = node && to->left > 1;
	to->column = column + to->branches;
	return 0;
}

static int fill_rows(struct view_tree *v, struct levels *levels)
{
	uint32_t next = first_shown(v, v->tree->nodes[0].child);
	int r = enter_node(v, levels, 0, 0);

	while (!r && levels->n) {
		struct level *l = &levels->list[levels->n - 1];
		struct view_row row = {
			.column = l->column, .branch = l->branches, .last = l->left == 1};

		if (!l->left) {
			next = first_shown(v, v->tree->nodes[l->node].next);
			levels->n--;
			continue;
		}
		l->left--;
		row.node = next ? next : l->node;
		row.hidden = next ? 0 : l->hidden;
		r = add_tree_row(v, &row);
		if (!next || r)
			continue;
		if (v->flags[next] & OPEN && v->tree->nodes[next].child) {
			r = enter_node(v, levels, next, l->column);
			next = first_shown(v, v->tree->nodes[next].child);
		} else {
			next = first_shown(v, v->tree->nodes[next].next);
		}
	}
	return r;
}

/* Builds all rows. The current node remains the current one if it still has a row. */
static int make_rows(struct view_tree *v)
{
	uint32_t current = view_tree_current(v);
	struct levels levels = {0};
	int r;

	for (size_t i = 0; i < v->list.n; i++)
		v->row_of[v->rows[i].node] = NO_ROW;
	v->list.n = 0;
	r = fill_rows(v, &levels);
	free(levels.list);
	if (current && v->row_of[current] != NO_ROW)
		v->list.at = v->row_of[current];
	view_list_fit(&v->list);
	return r;
}

/* ---- opening and closing ------------------------------------------------------------- */

/* Opens heavy nodes below `top` until this adds more than `rows` rows. */
static int open_heavy(struct view_tree *v, uint32_t top, uint64_t least, size_t rows)
{
	uint32_t node = top;
	unsigned int depth = 0;
	bool skip = false;
	int r = set_open(v, top);

	while (!r && rows && (node = cct_next(v->tree, node, skip, &depth)) && depth &&
	       depth < UINT32_MAX / 2) {
		skip = v->tree->nodes[node].total < least;
		if (skip || !has_children(v, node))
			continue;
		r = set_open(v, node);
		for (uint32_t c = v->tree->nodes[node].child; c && rows; c = v->tree->nodes[c].next)
			rows--;
	}
	return r;
}

int view_tree_begin(struct view_tree *v, const struct cct *tree, struct bottom_up *callees,
		    uint64_t least)
{
	uint64_t heavy = tree->nodes[0].total * FIRST_PERCENT / 100;
	int r;

	*v = (struct view_tree){.tree = tree, .callees = callees, .least = least + !least};
	v->list.height = 1;
	r = reserve_nodes(v);
	if (!r && !callees)
		r = open_heavy(v, 0, heavy > least ? heavy : least, FIRST_ROWS);
	if (!r)
		r = make_rows(v);
	/* If only light branches exist, show them. */
	if (!r && v->list.n == 1 && v->rows[0].hidden) {
		v->flags[0] |= LIGHT;
		r = make_rows(v);
	}
	return r;
}

uint32_t view_tree_current(const struct view_tree *v)
{
	return v->list.at < v->list.n && !v->rows[v->list.at].hidden ? v->rows[v->list.at].node : 0;
}

int view_tree_toggle(struct view_tree *v)
{
	uint32_t node = view_tree_current(v);
	int r = 0;

	if (v->list.at >= v->list.n)
		return 0;
	if (!node)
		v->flags[v->rows[v->list.at].node] |= LIGHT;
	else if (v->flags[node] & OPEN)
		v->flags[node] &= ~OPEN;
	else
		r = set_open(v, node);
	return r ? r : make_rows(v);
}

int view_tree_open(struct view_tree *v)
{
	uint32_t node = view_tree_current(v);

	if (!node || !(v->flags[node] & OPEN))
		return !node || has_children(v, node) ? view_tree_toggle(v) : 0;
	if (v->tree->nodes[node].child)
		view_list_go(&v->list, v->list.at + 1);
	return 0;
}

int view_tree_close(struct view_tree *v)
{
	uint32_t node = view_tree_current(v), parent;

	if (node && v->flags[node] & OPEN && v->tree->nodes[node].child)
		return view_tree_toggle(v);
	if (v->list.at >= v->list.n)
		return 0;
	parent = node ? v->tree->nodes[node].parent : v->rows[v->list.at].node;
	if (parent && v->row_of[parent] != NO_ROW)
		view_list_go(&v->list, v->row_of[parent]);
	return 0;
}

int view_tree_open_below(struct view_tree *v)
{
	uint32_t node = view_tree_current(v);
	int r = node ? open_heavy(v, node, v->least, OPEN_MAX) : 0;

	return r ? r : make_rows(v);
}

int view_tree_open_all(struct view_tree *v)
{
	/* In a bottom-up tree the number of rows is the sum of all depths. */
	int r = open_heavy(v, 0, v->least, v->callees ? OPEN_MAX / 16 : OPEN_MAX);

	return r ? r : make_rows(v);
}

int view_tree_close_all(struct view_tree *v)
{
	uint32_t node = view_tree_current(v);

	while (node && v->tree->nodes[node].parent)
		node = v->tree->nodes[node].parent;
	memset(v->flags + 1, 0, v->capacity - 1);
	if (node)
		v->list.at = v->row_of[node];
	return make_rows(v);
}

int view_tree_reveal(struct view_tree *v, uint32_t node)
{
	int r = 0;

	for (uint32_t at = node; at && !r; at = v->tree->nodes[at].parent) {
		uint32_t parent = v->tree->nodes[at].parent;

		if (parent)
			r = set_open(v, parent);
		if (!is_child_shown(v, at))
			v->flags[parent] |= LIGHT;
	}
	if (!r)
		r = make_rows(v);
	if (!r && v->row_of[node] != NO_ROW)
		view_list_go(&v->list, v->row_of[node]);
	return r;
}

int view_tree_search(struct view_tree *v, const struct view_share *s, bool backward, bool *found)
{
	uint32_t current = view_tree_current(v), hit = 0, node = 0;
	unsigned int depth = 0;
	bool passed = !current;

	/* In preorder: the first match after the current node, else the first of all. Backward: the
	 * last match before it, else the last of all. */
	*found = false;
	while ((node = cct_next(v->tree, node, false, &depth))) {
		bool good = view_share_found(s, v->tree->nodes[node].key->name);

		if (node == current) {
			passed = true;
			if (backward && hit)
				break;
			if (good && !hit)
				hit = node;
		} else if (good && backward) {
			hit = node;
		} else if (good && passed) {
			hit = node;
			break;
		} else if (good && !hit) {
			hit = node;
		}
	}
	*found = hit != 0;
	return hit ? view_tree_reveal(v, hit) : 0;
}

void view_tree_free(struct view_tree *v)
{
	free(v->flags);
	free(v->row_of);
	free(v->rows);
	*v = (struct view_tree){0};
}

/* ---- following another tree ------------------------------------------------------- */

struct pair { /* a node of both trees */
	uint32_t as, node;
};

struct pairs {
	struct pair *list;
	size_t n, capacity;
};

/* All of a key but its number, which its tree sets. */
static bool is_same_frame(const struct cct_key *a, const struct cct_key *b)
{
	return !memcmp(a, b, offsetof(struct cct_key, number));
}

/* Finds the child that equals one of the other tree; 0: there is none. `next` is where the search
 * begins, since most children keep their order. */
static uint32_t find_same_child(const struct view_tree *v, uint32_t parent, uint32_t *next,
				const struct cct_key *key)
{
	const struct cct_node *nodes = v->tree->nodes;
	uint32_t first = *next ? *next : nodes[parent].child, c = first;

	for (; c; c = nodes[c].next)
		if (is_same_frame(nodes[c].key, key))
			break;
	for (uint32_t d = nodes[parent].child; !c && d != first; d = nodes[d].next)
		if (is_same_frame(nodes[d].key, key))
			c = d;
	*next = c ? nodes[c].next : *next;
	return c;
}

static int follow_children(struct view_tree *v, const struct view_tree *as, struct pair at,
			   struct pairs *open, uint32_t current, uint32_t *found)
{
	uint32_t next = 0;

	for (uint32_t c = as->tree->nodes[at.as].child; c; c = as->tree->nodes[c].next) {
		uint32_t same = find_same_child(v, at.node, &next, as->tree->nodes[c].key);

		if (!same)
			continue;
		if (c == current)
			*found = same;
		v->flags[same] = as->flags[c] & LIGHT;
		if (!(as->flags[c] & OPEN))
			continue;
		if (set_open(v, same) ||
		    array_grow_from(&open->list, open->n, &open->capacity, 64, sizeof(struct pair)))
			return -ENOMEM;
		open->list[open->n++] = (struct pair){c, same};
	}
	return 0;
}

int view_tree_follow(struct view_tree *v, const struct view_tree *as)
{
	uint32_t current = view_tree_current(as), found = 0;
	size_t offset = as->list.at - as->list.top;
	struct pairs open = {0};
	int r = follow_children(v, as, (struct pair){0, 0}, &open, current, &found);

	v->flags[0] |= as->flags[0] & LIGHT;
	while (!r && open.n)
		r = follow_children(v, as, open.list[--open.n], &open, current, &found);
	free(open.list);
	if (!r)
		r = make_rows(v);
	v->list.height = as->list.height;
	/* In the first row, the user looks at what is heaviest. */
	v->list.at =
		found && as->list.at && v->row_of[found] != NO_ROW ? v->row_of[found] : as->list.at;
	v->list.top = v->list.at > offset ? v->list.at - offset : 0;
	view_list_fit(&v->list);
	return r;
}

/* ---- drawing ---------------------------------------------------------------------- */

/* Draws the lines of the branches above. Deep ones are cut off on the left. */
static int draw_margin(const struct view_tree *v, const struct view_row *row, int y, int x)
{
	int width = screen_width(), columns = (width - x) / 2 / 3;
	uint32_t skip = row->column > (uint32_t)columns ? row->column - columns : 0;
	uint32_t node = row->hidden ? row->node : v->tree->nodes[row->node].parent;
	int left = x;

	if (row->branch)
		screen_put(y, left + 3 * (int)(row->column - 1 - skip), width, LOOK_DIM,
			   row->last ? "└─" : "├─");
	for (; node; node = v->tree->nodes[node].parent) {
		const struct view_row *above = &v->rows[v->row_of[node]];

		if (above->branch && !above->last && above->column > skip)
			screen_put(y, left + 3 * (int)(above->column - 1 - skip), width, LOOK_DIM,
				   "│");
	}
	if (skip)
		screen_put(y, left, width, LOOK_DIM, "…");
	return left + 3 * (int)(row->column - skip);
}

static int draw_frame(const struct view_share *s, const struct cct_node *n, int y, int x)
{
	struct frame_text text = {.names = s->names, .upwards = s->upwards, .plain = s->plain};
	char buffer[4096], *more = NULL;
	int skip = s->scroll;
	size_t size;
	FILE *f = open_memstream(&more, &size);

	x = view_share_text(
		y, x, view_share_found(s, n->key->name) ? LOOK_FOUND : LOOK_PLAIN,
		text_clean(symbol_table_shown(s->names, n->key->name), buffer, sizeof(buffer)),
		&skip);
	if (!f)
		return x;
	frame_text_more(&text, n, f);
	fclose(f);
	x = view_share_text(y, x, LOOK_DIM, more, &skip);
	free(more);
	return x;
}

/* Sums the children of a node that have no row. Only their total is known. */
static void sum_hidden(const struct view_tree *v, const struct cct_node *n, struct cct_node *sum)
{
	memset(sum, 0xff, sizeof(*sum)); /* VIEW_NO_NUMBER */
	sum->total = 0;
	for (uint32_t c = n->child; c; c = v->tree->nodes[c].next)
		if (!is_child_shown(v, c))
			sum->total += v->tree->nodes[c].total;
}

static void draw_row(const struct view_tree *v, const struct view_share *s,
		     const struct view_row *row, int y)
{
	const struct cct_node *n = &v->tree->nodes[row->node];
	struct cct_node hidden;
	int x, width = screen_width();
	char rest[64];

	if (row->hidden)
		sum_hidden(v, n, &hidden);
	x = view_columns_put(s, v->callees ? CALLEES : CALLERS, y, row->hidden ? &hidden : n);
	x = draw_margin(v, row, y, x + 2);
	if (row->hidden) {
		snprintf(rest, sizeof(rest), "▸ … %zu lighter", row->hidden);
		screen_put(y, x, width, LOOK_DIM, rest);
		return;
	}
	x = screen_put(y, x, width, LOOK_PLAIN,
		       !has_children(v, row->node)  ? "  "
		       : v->flags[row->node] & OPEN ? "▾ "
						    : "▸ ");
	draw_frame(s, n, y, x);
}

void view_tree_draw(struct view_tree *v, const struct view_share *s, int top, int height)
{
	v->list.height = height;
	view_list_fit(&v->list);
	for (int i = 0; i < height && v->list.top + i < v->list.n; i++) {
		draw_row(v, s, &v->rows[v->list.top + i], top + i);
		if (v->list.top + i == v->list.at)
			screen_mark(top + i);
	}
}
