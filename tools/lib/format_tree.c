/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The readable tree, outermost frames at the top.  A chain of only children is one
 * column; lines are drawn, and indented, only where the tree branches, so that deep
 * contexts stay on the page:
 *
 *      total    self
 *     100.0%    0.0%  main
 *      99.2%    1.0%  run  main.c:40
 *      60.1%   60.1%  ├─ parse  run.c:12
 *      38.1%   38.1%  └─ print  run.c:15
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/format.h"

struct printer {
	const struct profile *p;
	const struct format_options *o;
	const struct cct *t;
	FILE *out;
	uint64_t all, least; /* branches lighter than least are left out */
	char *lines;	     /* does a vertical line run through this column? */
};

static void print_frame(const struct printer *pr, const struct cct_node *n)
{
	const struct names *names = pr->p->names;
	char buffer[1024];

	fputs(format_clean(names_string(names, n->key.name), buffer, sizeof(buffer)), pr->out);
	if (n->key.file)
		fprintf(pr->out, "  %s:%u",
			format_clean(format_base(names_string(names, n->key.file)), buffer, sizeof(buffer)),
			n->key.line);
	else if (n->key.line)
		fprintf(pr->out, "  line %u", n->key.line);
	if (n->key.flags & CCT_INLINED)
		fputs("  (inlined)", pr->out);
	if (n->key.kind == FRAME_TAIL)
		fputs("  (left by a tail call)", pr->out);
	if (n->key.kind == FRAME_FOREIGN && !(n->key.flags & CCT_KERNEL))
		fputs("  (not instrumented)", pr->out);
	if (n->key.repeat) {
		fprintf(pr->out, "  × %u", n->repeat_min + 1);
		if (n->repeat_max != n->repeat_min)
			fprintf(pr->out, "–%u", n->repeat_max + 1);
		if (n->key.span > 1)
			fprintf(pr->out, ", with the %u below", n->key.span - 1);
	}
}

/* A node whose children are being printed. */
struct level {
	uint32_t next;	 /* child to be printed next */
	size_t shown;	 /* children still to be printed */
	size_t n_hidden; /* others */
	uint64_t hidden; /* their weight */
	size_t column;	 /* of the children */
	bool branches;	 /* a line leads to each of them */
};

static void print_margin(const struct printer *pr, const struct level *l, bool last)
{
	for (size_t i = 0; i + l->branches < l->column; i++)
		fputs(pr->lines[i] ? "│  " : "   ", pr->out);
	if (l->branches) {
		fputs(last ? "└─ " : "├─ ", pr->out);
		pr->lines[l->column - 1] = !last;
	}
}

static struct level enter(const struct printer *pr, uint32_t node, size_t column)
{
	struct level l = {.next = pr->t->nodes[node].child};

	for (uint32_t c = l.next; c; c = pr->t->nodes[c].next) {
		if (pr->t->nodes[c].total >= pr->least) {
			l.shown++;
		} else {
			l.n_hidden++;
			l.hidden += pr->t->nodes[c].total;
		}
	}
	/* Crumbs that are light even together are not worth a line. */
	if (l.hidden < pr->least)
		l.n_hidden = 0;
	l.branches = node && l.shown + !!l.n_hidden > 1;
	l.column = column + l.branches;
	return l;
}

static void print_rest(const struct printer *pr, struct level *l, const char *what)
{
	if (!l->n_hidden)
		return;
	fprintf(pr->out, "%6.1f%%           ", format_percent(l->hidden, pr->all));
	print_margin(pr, l, true);
	fprintf(pr->out, "… %zu %s\n", l->n_hidden, what);
	l->n_hidden = 0;
}

static int reserve_levels(struct printer *pr, struct level **levels, size_t *capacity, size_t depth)
{
	size_t want = *capacity ? *capacity * 2 : 256;
	struct level *more;
	char *lines; /* does a vertical line run through this column? */

	if (depth + 1 < *capacity)
		return 0;
	more = reallocarray(*levels, want, sizeof(**levels));
	if (more)
		*levels = more;
	lines = realloc(pr->lines, want + 1);
	if (lines)
		pr->lines = lines;
	if (!more || !lines)
		return -ENOMEM;
	*capacity = want;
	return 0;
}

static int print_tree(struct printer *pr)
{
	struct level *levels = NULL;
	size_t capacity = 0, depth = 0;

	if (reserve_levels(pr, &levels, &capacity, 0)) {
		free(levels);
		return -ENOMEM;
	}
	levels[0] = enter(pr, 0, 0);
	for (;;) {
		struct level *l = &levels[depth];
		uint32_t node = l->next;
		const struct cct_node *n;

		/* Children come heaviest first: those that are shown, then the others. */
		if (!l->shown) {
			print_rest(pr, l, "lighter");
			if (!depth)
				break;
			depth--;
			continue;
		}
		n = &pr->t->nodes[node];
		if (!depth && node != pr->t->nodes[0].child)
			fputc('\n', pr->out);
		l->next = n->next;
		l->shown--;
		fprintf(pr->out, "%6.1f%%  %6.1f%%  ", format_percent(n->total, pr->all),
			format_percent(n->self, pr->all));
		print_margin(pr, l, !l->shown && !l->n_hidden);
		print_frame(pr, n);
		fputc('\n', pr->out);
		if (reserve_levels(pr, &levels, &capacity, depth + 1)) {
			free(levels);
			return -ENOMEM;
		}
		l = &levels[depth];
		levels[depth + 1] = enter(pr, node, l->column);
		depth++;
		if (pr->o->max_depth && depth >= pr->o->max_depth) {
			l = &levels[depth];
			l->n_hidden += l->shown;
			l->hidden = n->total - n->self;
			l->shown = 0;
			l->column -= l->branches;
			l->branches = false;
			print_rest(pr, l, "deeper");
		}
	}
	free(levels);
	return 0;
}

int format_tree(const struct profile *p, const struct format_options *o, FILE *out)
{
	struct printer pr = {.p = p, .o = o, .out = out};
	struct cct merged;
	char buffer[1024];
	int r = cct_merge(&p->tree, CCT_MERGE_LINES, &merged);

	if (r)
		return r;
	r = cct_finish(&merged, p->names);
	if (!r) {
		pr.t = &merged;
		pr.all = merged.nodes[0].total;
		pr.least = pr.all * (o->min_percent / 100.0);
		pr.least += !pr.least;
		fprintf(out, "%llu samples", (unsigned long long)p->stats.samples);
		if (*p->event)
			fprintf(out, " of %s", format_clean(p->event, buffer, sizeof(buffer)));
		if (*p->command)
			fprintf(out, ": %s", format_clean(p->command, buffer, sizeof(buffer)));
		fprintf(out, "\n\n  total     self\n");
		r = print_tree(&pr);
	}
	free(pr.lines);
	cct_free(&merged);
	return r;
}
