/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the list with a current row and a visible window. */
#include <curses.h>
#include "view/list.h"
#include "view/screen.h"

void view_list_fit(struct view_list *l)
{
	if (!l->height)
		l->height = 1;
	if (l->at >= l->n)
		l->at = l->n ? l->n - 1 : 0;
	if (l->top > l->at)
		l->top = l->at;
	if (l->at - l->top >= l->height)
		l->top = l->at - l->height + 1;
	if (l->n < l->top + l->height)
		l->top = l->n > l->height ? l->n - l->height : 0;
}

void view_list_go(struct view_list *l, size_t at)
{
	bool visible = at >= l->top && at < l->top + l->height;

	l->at = at;
	if (!visible)
		l->top = at > l->height / 2 ? at - l->height / 2 : 0;
	view_list_fit(l);
}

static void move_by(struct view_list *l, size_t rows, bool up)
{
	size_t last = l->n ? l->n - 1 : 0;

	if (up)
		l->at = l->at > rows ? l->at - rows : 0;
	else
		l->at = last - l->at > rows ? l->at + rows : last;
}

/* Moves by rows and scrolls as far, so the current row stays at its place on the screen. */
static void move_page(struct view_list *l, size_t rows, bool up)
{
	size_t offset = l->at - l->top;

	move_by(l, rows, up);
	l->top = l->at > offset ? l->at - offset : 0;
}

bool view_list_key(struct view_list *l, int key)
{
	size_t page = l->height > 1 ? l->height - 1 : 1;

	switch (key) {
	case KEY_UP:
	case 'k':
	case SCREEN_CTRL('p'):
		move_by(l, 1, true);
		break;
	case KEY_DOWN:
	case 'j':
	case SCREEN_CTRL('n'):
		move_by(l, 1, false);
		break;
	case KEY_PPAGE:
	case 'b':
	case SCREEN_CTRL('b'):
		move_page(l, page, true);
		break;
	case KEY_NPAGE:
	case ' ':
	case 'f':
	case SCREEN_CTRL('f'):
		move_page(l, page, false);
		break;
	case SCREEN_CTRL('u'):
		move_page(l, (page + 1) / 2, true);
		break;
	case 'd':
	case SCREEN_CTRL('d'):
		move_page(l, (page + 1) / 2, false);
		break;
	case KEY_HOME:
	case 'g':
		l->at = 0;
		break;
	case KEY_END:
	case 'G':
		l->at = l->n ? l->n - 1 : 0;
		break;
	default:
		return false;
	}
	view_list_fit(l);
	return true;
}
