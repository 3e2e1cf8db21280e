/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See row_page.h. */
#include <curses.h>
#include "view/pages.h"
#include "view/row_page.h"
#include "view/screen.h"

bool row_page_key(struct view *v, const struct row_page *page, int key)
{
	switch (key) {
	case 'q':
	case SCREEN_ESCAPE:
	case KEY_LEFT:
	case ERR:
		return true;
	case '?':
	case 'h':
	case KEY_F(1):
		view_read("Keys", view_help);
		return false;
	case 'H':
	case '\t':
		page->hottest(page->rows, key == '\t');
		return false;
	case 'p':
		v->share.counts = !v->share.counts;
		return false;
	case '/':
		if (!screen_ask("/", v->search, sizeof(v->search)))
			return false;
		view_set_search(v, v->search);
		/* fall through */
	case 'n':
	case 'N':
		if (v->share.searching && !page->search(page->rows, &v->share, key == 'N'))
			view_say(v, "Not found: %s", v->search);
		return false;
	default:
		view_list_key(page->list, key);
		return false;
	}
}
