/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the full-screen pages of the interactive view: the help, lists to choose from, and
 * texts. */
#include <stdlib.h>
#include <string.h>
#include <curses.h>
#include "view/list.h"
#include "view/pages.h"
#include "view/screen.h"

const char view_help[] =
	"Move\n"
	"  Up Down, k j         one row             PgUp PgDn, b Space   one page\n"
	"  Ctrl-U Ctrl-D        half a page         Home End, g G        first, last row\n"
	"Select a view\n"
	"  Tab, 1 2 3           callers, callees (bottom-up), functions\n"
	"  a                    source code with the cost of each line\n"
	"  A                    instructions with the cost of each, in all contexts\n"
	"  i                    statistics of the recording\n"
	"Open and close rows\n"
	"  Enter, +             open or close; in functions: show it among the callers\n"
	"  Right, Left          open or go to first child; close or go to parent\n"
	"  e  E  C              open all rows below, open all rows, close all rows\n"
	"Search (regular expression; without capital letters it ignores case)\n"
	"  /  n  N              search, next match, previous match\n"
	"Select samples\n"
	"  &                    only contexts with a matching function; empty: all\n"
	"  x                    only contexts without a matching function; empty: all\n"
	"  z  Z                 only contexts below this function; undo\n"
	"  t  v                 by thread or thread name; by event\n"
	"  T                    by time, in a map: Space marks, Enter selects\n"
	"Change the display\n"
	"  s                    sort by default order, total, self, name\n"
	"  p                    percentages or numbers\n"
	"  F                    100% is the selection or the whole recording\n"
	"  r                    recursion: show all, fold direct, fold all\n"
	"  c                    call sites: show separately or merge\n"
	"  l                    one frame for each function or for each line\n"
	"  m                    C++ names: short or in full\n"
	"  < >                  scroll names\n"
	"Other keys\n"
	"  w                    write this view to a text file\n"
	"  q, Esc               leave this page or the program; Ctrl-C leaves at once\n"
	"  ?, h, F1             this help\n"
	"\n"
	"Source code, instructions\n"
	"  Tab  H               next hottest row, hottest row\n"
	"  a                    costs in this context or in all contexts of the function\n"
	"  Enter                show the source of the most expensive call of this line\n"
	"\n"
	"Which line is next to a frame?\n"
	"  Callers              the line that calls this frame\n"
	"  Callees              the line from which this frame calls the one above it\n"
	"  By line (key l)      the line of this frame\n";

static void draw_title(const char *title, struct view_list *l)
{
	screen_rest(0, screen_put(0, 0, screen_width(), LOOK_BAR, title), LOOK_BAR);
	l->height = screen_height() > 2 ? (size_t)screen_height() - 2 : 1;
	view_list_fit(l);
}

static void draw_text(const char *title, char *const *lines, struct view_list *l)
{
	erase();
	draw_title(title, l);
	for (size_t i = 0; i < l->height && l->top + i < l->n; i++) {
		const char *line = lines[l->top + i];

		screen_put((int)i + 1, 0, screen_width(), *line != ' ' ? LOOK_BOLD : LOOK_PLAIN,
			   line);
	}
	screen_put(screen_height() - 1, 0, screen_width(), LOOK_DIM,
		   l->top + l->height < l->n ? "Space: next page; q: back" : "q: back");
}

/* ---- choices ----------------------------------------------------------------------- */

#define NOTE_MIN 24 /* columns */

/* Returns where the column of notes begins: after the longest text, if enough columns remain. */
static int note_column(const char *title, const struct view_item *items, size_t n)
{
	size_t longest = strlen(title),
	       most = screen_width() > NOTE_MIN ? screen_width() - NOTE_MIN : 0;

	for (size_t i = 0; i < n; i++)
		if (items[i].note && strlen(items[i].text) > longest)
			longest = strlen(items[i].text);
	return (int)(longest + 2 < most ? longest + 2 : most);
}

/* Writes the end of a text that is too long, because the end of a chain of calls is its most
 * important part. */
static void put_end_of(int y, int x, enum screen_look look, const char *text)
{
	int room = screen_width() - x;
	const char *from = text;

	if (screen_columns(text) > room) {
		x = screen_put(y, x, screen_width(), look, "…");
		while (*from && screen_columns(from) > room - 1)
			do
				from++;
			while ((*from & 0xc0) == 0x80);
	}
	screen_put(y, x, screen_width(), look, from);
}

static void draw_choice(const char *title, const char *note, const struct view_item *items,
			struct view_list *l)
{
	int width = screen_width(), last = screen_height() - 1,
	    column = note ? note_column(title, items, l->n) : 0, x;
	const struct view_item *now = &items[l->at];
	bool cut = false;

	erase();
	draw_title(title, l);
	if (note)
		screen_put(0, column, width, LOOK_BAR, note);
	for (size_t i = 0; i < l->height && l->top + i < l->n; i++) {
		const struct view_item *item = &items[l->top + i];

		x = screen_put((int)i + 1, 0, width, LOOK_PLAIN, item->text);
		if (item->note) {
			x = x + 2 > column ? x + 2 : column;
			put_end_of((int)i + 1, x, LOOK_DIM, item->note);
			cut |= item == now && screen_columns(item->note) > width - x;
		}
		if (l->top + i == l->at)
			screen_mark((int)i + 1);
	}
	if (cut) {
		x = screen_put(last, 0, width, LOOK_DIM, note);
		put_end_of(last, screen_put(last, x, width, LOOK_DIM, " "), LOOK_PLAIN, now->note);
	} else {
		screen_put(last, 0, width, LOOK_DIM, "Enter: select; q: cancel");
	}
}

size_t view_choose(const char *title, const char *note, const struct view_item *items, size_t n)
{
	struct view_list l = {.n = n, .height = 1};

	for (;;) {
		int key;

		draw_choice(title, note, items, &l);
		key = screen_key();
		if (key == '\r' || key == '\n' || key == KEY_ENTER)
			return l.at;
		if (key == 'q' || key == SCREEN_ESCAPE || key == KEY_LEFT || key == ERR)
			return n;
		view_list_key(&l, key);
	}
}

/* ---- texts ------------------------------------------------------------------------- */

/* Scrolls a text by its top line. A text has no cursor. */
static bool scroll_text(struct view_list *l, int key)
{
	struct view_list top = {.n = l->n > l->height ? l->n - l->height + 1 : 1,
				.at = l->top,
				.height = l->height};

	if (!view_list_key(&top, key))
		return false;
	l->top = l->at = top.at;
	view_list_fit(l);
	return true;
}

void view_read(const char *title, const char *text)
{
	char *copy = strdup(text), *at = copy;
	struct view_list l = {.height = 1};
	char **lines = NULL;
	int key;

	for (const char *c = text; *c; c++)
		l.n += *c == '\n';
	lines = calloc(l.n + 1, sizeof(*lines));
	if (copy && lines) {
		for (size_t i = 0; i < l.n; i++)
			lines[i] = strsep(&at, "\n");
		do {
			draw_text(title, lines, &l);
			key = screen_key();
		} while (scroll_text(&l, key) || key == KEY_RESIZE);
	}
	free(lines);
	free(copy);
}
