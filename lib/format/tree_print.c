/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints a tree with an explicit stack of levels. Trees can be too deep for recursion. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/text.h"
#include "format/frame_text.h"
#include "format/tree_print.h"

/* A node whose children are being printed. */
struct level {
	uint32_t next;	 /* next child to visit */
	size_t shown;	 /* children still to be printed */
	size_t n_hidden; /* children that are left out */
	uint64_t hidden; /* their weight */
	size_t column;	 /* column of the children */
	bool branches;	 /* a line leads to each of them */
};

struct printer {
	const struct tree_print *o;
	const struct cct *t;
	struct frame_text text;
	uint64_t all, least, least_cost; /* branches lighter than both are left out */
	bool errors;			 /* the recording is a summary: shares may lack something */
	bool costs;			 /* there are columns of what calls cost */
	bool bytes;			 /* there is a column of bytes */
	struct level *levels;
	char *lines; /* whether a vertical line passes through this column */
	size_t capacity;
};

static void print_margin(const struct printer *pr, const struct level *l, bool last)
{
	for (size_t i = 0; i + l->branches < l->column; i++)
		fputs(pr->lines[i] ? "│  " : "   ", pr->o->out);
	if (l->branches) {
		fputs(last ? "└─ " : "├─ ", pr->o->out);
		pr->lines[l->column - 1] = !last;
	}
}

static bool is_shown(const struct printer *pr, const struct cct_node *n)
{
	return n->total >= pr->least || (pr->costs && n->total_cost >= pr->least_cost);
}

static struct level open_level(const struct printer *pr, uint32_t node, size_t column)
{
	struct level l = {.next = pr->t->nodes[node].child};

	for (uint32_t c = l.next; c; c = pr->t->nodes[c].next) {
		if (is_shown(pr, &pr->t->nodes[c])) {
			l.shown++;
		} else {
			l.n_hidden++;
			l.hidden += pr->t->nodes[c].total;
		}
	}
	/* A line for the rest is printed only if it is heavy enough as a whole. */
	if (l.hidden < pr->least)
		l.n_hidden = 0;
	l.branches = node && l.shown + !!l.n_hidden > 1;
	l.column = column + l.branches;
	return l;
}

/* n: the node; NULL: the line represents several. */
static void print_shares(const struct printer *pr, uint64_t total, const struct cct_node *n)
{
	bool colors = pr->o->options->colors;
	char bytes[32];

	frame_text_percent(colors, 6, 1, text_percent(total, pr->all), pr->o->out);
	fputs("  ", pr->o->out);
	if (pr->bytes) {
		text_bytes(bytes, sizeof(bytes), total);
		fprintf(pr->o->out, "%10s  ", bytes);
	}
	if (pr->o->upwards)
		return;
	if (n)
		frame_text_percent(colors, 6, 1, text_percent(n->self, pr->all), pr->o->out);
	else
		fputs("       ", pr->o->out);
	if (n && pr->errors)
		fprintf(pr->o->out, "  %6.2f%%",
			text_percent(hot_tree_error(&pr->o->profile->hot, n), pr->all));
	else if (pr->errors)
		fputs("         ", pr->o->out);
	if (n && pr->costs)
		frame_text_costs(pr->o->profile, n->self, n->cost, n->total_cost, pr->o->out);
	else if (pr->costs)
		frame_text_no_costs(pr->o->out);
	fputs(n && hot_tree_is_hot(&pr->o->profile->hot, n) ? "* " : "  ", pr->o->out);
}

static void print_rest(const struct printer *pr, struct level *l, const char *what)
{
	if (!l->n_hidden)
		return;
	print_shares(pr, l->hidden, NULL);
	print_margin(pr, l, true);
	fprintf(pr->o->out, "… %zu %s\n", l->n_hidden, what);
	l->n_hidden = 0;
}

static int reserve_levels(struct printer *pr, size_t depth)
{
	size_t capacity = pr->capacity;

	if (array_reserve(&pr->levels, &capacity, depth + 3, sizeof(*pr->levels)) ||
	    array_reserve(&pr->lines, &pr->capacity, depth + 3, 1))
		return -ENOMEM;
	return 0;
}

/* Returns the next child that is shown. */
static uint32_t next_child(const struct printer *pr, struct level *l)
{
	uint32_t node = l->next;

	while (!is_shown(pr, &pr->t->nodes[node]))
		node = pr->t->nodes[node].next;
	l->next = pr->t->nodes[node].next;
	l->shown--;
	return node;
}

static void cut_level(const struct printer *pr, struct level *l, const struct cct_node *n)
{
	l->n_hidden += l->shown;
	l->hidden = pr->o->upwards ? n->total : n->total - n->self;
	l->shown = 0;
	l->column -= l->branches;
	l->branches = false;
	print_rest(pr, l, "deeper");
}

static int print_all(struct printer *pr)
{
	unsigned int max_depth = pr->o->options->max_depth;
	size_t depth = 0;

	if (reserve_levels(pr, 0))
		return -ENOMEM;
	pr->levels[0] = open_level(pr, 0, 0);
	for (;;) {
		struct level *l = &pr->levels[depth];
		const struct cct_node *n;
		uint32_t node;

		if (!l->shown) {
			print_rest(pr, l, "lighter");
			if (!depth)
				return 0;
			depth--;
			continue;
		}
		node = next_child(pr, l);
		n = &pr->t->nodes[node];
		if (!depth && node != pr->t->nodes[0].child)
			fputc('\n', pr->o->out);
		print_shares(pr, n->total, n);
		print_margin(pr, l, !l->shown && !l->n_hidden);
		frame_text_print(&pr->text, n, pr->o->out);
		fputc('\n', pr->o->out);
		if (reserve_levels(pr, depth + 1))
			return -ENOMEM;
		pr->levels[depth + 1] = open_level(pr, node, pr->levels[depth].column);
		depth++;
		if (max_depth && depth >= max_depth)
			cut_level(pr, &pr->levels[depth], n);
	}
}

int tree_print(const struct tree_print *o)
{
	struct printer pr = {
		.o = o,
		.t = o->tree,
		.text = {.names = o->profile->names,
			 .upwards = o->upwards,
			 .colors = o->options->colors,
			 .plain = frame_text_plain(o->profile)},
		.all = o->tree->nodes[0].total,
		.errors = o->profile->summary.phi > 0,
		.costs = o->profile->cost.event && !o->upwards,
		.bytes = format_unit(o->profile).bytes,
	};
	int r;

	pr.least = pr.all * (o->options->min_percent / 100.0);
	pr.least += !pr.least;
	pr.least_cost = o->tree->nodes[0].total_cost * (o->options->min_percent / 100.0);
	pr.least_cost += !pr.least_cost;
	fputs(o->upwards ? "\n  share" : "\n  total", o->out);
	if (pr.bytes)
		fputs("       bytes", o->out);
	if (!o->upwards)
		fputs(pr.errors ? "     self    error" : "     self", o->out);
	if (pr.costs)
		frame_text_costs_head(o->profile, o->out);
	fputc('\n', o->out);
	r = print_all(&pr);
	free(pr.levels);
	free(pr.lines);
	return r;
}
