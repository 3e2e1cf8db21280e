/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See time_page.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <curses.h>
#include "base/text.h"
#include "view/pages.h"
#include "view/screen.h"
#include "view/time_page.h"

#define TOP 1	      /* first line of the map */
#define AROUND 3      /* lines that are not the map's */
#define SHORTEST 1000 /* ns of a cell */
#define LABEL 16      /* columns from one time of the scale to the next */

struct time_page {
	const struct profile *p;
	int rows, columns;
	double column, cell; /* ns */
	double *weights;     /* of cells */
	double most;
	int at, mark; /* cells; mark -1: none */
};

/* Returns the shortest round time of which at most n cover a time. */
static double round_time(double whole, int n)
{
	static const double steps[] = {1, 2, 5};
	double power = 1;

	for (;; power *= 10)
		for (int i = 0; i < 3; i++)
			if (power * steps[i] * n > whole)
				return power * steps[i];
}

/* Fills the map for the size of the screen. 0 or -ENOMEM. */
static int fill_map(struct time_page *t)
{
	static const int rows[] = {50, 20, 10, 5, 2, 1};
	double whole = (double)(t->p->last - t->p->first);
	int room = screen_height() - AROUND, i = 0, cells;

	while (rows[i] > room && rows[i] > 1)
		i++;
	t->rows = rows[i];
	t->column = round_time(whole, screen_width());
	if (t->column < SHORTEST * t->rows)
		t->column = SHORTEST * t->rows;
	t->cell = t->column / t->rows;
	t->columns = (int)(whole / t->column) + 1;
	cells = t->rows * t->columns;
	free(t->weights);
	t->weights = calloc(cells, sizeof(*t->weights));
	if (!t->weights)
		return -ENOMEM;
	t->most = 0;
	for (size_t k = 0; k < profile_samples(t->p); k++) {
		struct profile_moment m = profile_moment(t->p, k);
		double at = (double)(m.time - t->p->first) / t->cell;
		double *w = &t->weights[at < cells ? (int)at : cells - 1];

		*w += (double)m.weight;
		t->most = *w > t->most ? *w : t->most;
	}
	t->mark = -1;
	t->at = t->at < cells ? t->at : cells - 1;
	return 0;
}

static void print_seconds(char *buffer, size_t size, double ns, double step)
{
	int digits = step >= 1e9 ? 0 : step >= 1e6 ? 3 : step >= 1e3 ? 6 : 9;

	snprintf(buffer, size, "%.*f s", digits, ns / 1e9);
}

static void print_weight(char *buffer, size_t size, const struct profile *p, double weight)
{
	struct format_unit unit = format_unit(p);

	if (unit.bytes)
		text_bytes(buffer, size, weight);
	else if (unit.clock)
		snprintf(buffer, size, "%.4g ms", weight * (double)unit.scale / 1e6);
	else
		snprintf(buffer, size, "%.0f", weight);
}

static bool is_within(int a, int b, int cell)
{
	return cell >= (a < b ? a : b) && cell <= (a < b ? b : a);
}

static void draw_cell(const struct time_page *t, const struct view_span *span, int cell)
{
	static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
	double weight = t->weights[cell];
	int level = weight > 0 ? 1 + (int)(3.999 * sqrt(weight / t->most)) : 0, x = cell / t->rows,
	    y = TOP + t->rows - 1 - cell % t->rows;
	bool selected = t->mark >= 0 ? is_within(t->mark, t->at, cell)
				     : !span->to || (cell * t->cell >= span->from &&
						     (cell + 1) * t->cell <= span->to * 1.0001);

	screen_put(y, x, x + 1,
		   cell == t->at ? LOOK_BAR
		   : !selected	 ? LOOK_DIM
		   : level > 3	 ? LOOK_HOT
				 : LOOK_WARM,
		   cell == t->at && !level ? "·" : shades[level]);
}

static void draw_map(const struct time_page *t, const struct view *v)
{
	int width = screen_width(), last = screen_height() - 1, x;
	int low = t->mark >= 0 && t->mark < t->at ? t->mark : t->at,
	    high = t->mark > t->at ? t->mark : t->at;
	char text[256], from[32], to[32], amount[64];
	double weight = 0;

	erase();
	print_seconds(from, sizeof(from), t->column, t->cell);
	print_seconds(to, sizeof(to), t->cell, t->cell);
	snprintf(text, sizeof(text), "   %.80s over time: a column is %s, a cell %s", t->p->event,
		 from, to);
	screen_rest(0, screen_put(0, 0, width, LOOK_BAR, text), LOOK_BAR);
	for (int i = 0; i < t->rows * t->columns; i++)
		draw_cell(t, &v->m.span, i);
	for (int i = 0; i < t->columns; i += LABEL) {
		print_seconds(from, sizeof(from), i * t->column, t->column);
		screen_put(TOP + t->rows, i, width, LOOK_DIM, from);
	}
	for (int i = low; i <= high; i++)
		weight += t->weights[i];
	print_seconds(from, sizeof(from), low * t->cell, t->cell);
	print_seconds(to, sizeof(to), (high + 1) * t->cell, t->cell);
	print_weight(amount, sizeof(amount), t->p, weight);
	snprintf(text, sizeof(text), "%s to %s: %s  ", from, to, amount);
	x = screen_put(last, 0, width, LOOK_PLAIN, text);
	screen_put(last, x, width, LOOK_DIM,
		   t->mark < 0 ? "Space: mark; Enter: select; a: all; q: back"
			       : "Enter: select from the mark; Space: no mark");
}

static void move_cell(struct time_page *t, int by)
{
	int to = t->at + by;

	if (to >= 0 && to < t->rows * t->columns)
		t->at = to;
}

/* Goes to the next cell with a weight that is at least half of the greatest one. */
static void go_to_strong(struct time_page *t)
{
	int cells = t->rows * t->columns;

	for (int i = 1; i <= cells; i++) {
		int cell = (t->at + i) % cells;

		if (t->weights[cell] * 2 >= t->most && t->most > 0) {
			t->at = cell;
			return;
		}
	}
}

/* Handles a key. Returns whether it ends the page. */
static bool handle_time_key(struct time_page *t, struct view_span *span, int key)
{
	switch (key) {
	case KEY_UP:
	case 'k':
		move_cell(t, 1);
		return false;
	case KEY_DOWN:
	case 'j':
		move_cell(t, -1);
		return false;
	case KEY_RIGHT:
	case 'l':
		move_cell(t, t->rows);
		return false;
	case KEY_LEFT:
		move_cell(t, -t->rows);
		return false;
	case KEY_HOME:
	case 'g':
		t->at = 0;
		return false;
	case KEY_END:
	case 'G':
		t->at = t->rows * t->columns - 1;
		return false;
	case '\t':
		go_to_strong(t);
		return false;
	case ' ':
		t->mark = t->mark < 0 ? t->at : -1;
		return false;
	case '?':
	case 'h':
	case KEY_F(1):
		view_read("Keys", view_help);
		return false;
	case '\r':
	case '\n':
	case KEY_ENTER:
		if (t->mark < 0)
			t->mark = t->at;
		span->from = (t->mark < t->at ? t->mark : t->at) * t->cell;
		span->to = ((t->mark < t->at ? t->at : t->mark) + 1) * t->cell;
		return true;
	case 'a':
		*span = (struct view_span){0};
		return true;
	default:
		return key == 'q' || key == SCREEN_ESCAPE || key == ERR;
	}
}

int view_choose_time(struct view *v, bool *changed)
{
	struct view_span before = v->m.span;
	struct time_page t = {.p = v->m.profile};
	bool over = false;
	int r = fill_map(&t);

	if (!r && before.to > 0)
		t.at = (int)(before.from / t.cell + 0.5);
	while (!r && !over) {
		int key;

		move_cell(&t, 0);
		draw_map(&t, v);
		key = screen_key();
		if (key == KEY_RESIZE)
			r = fill_map(&t);
		else
			over = handle_time_key(&t, &v->m.span, key);
	}
	free(t.weights);
	*changed = v->m.span.from != before.from || v->m.span.to != before.to;
	return r;
}
