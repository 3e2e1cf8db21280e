/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Handles the keys that the pages of source and instructions have in common. */
#ifndef PCCE_VIEW_ROW_PAGE_H
#define PCCE_VIEW_ROW_PAGE_H

#include "view/state.h"

/* What such a page can do. rows: the page. */
struct row_page {
	struct view_list *list;
	void *rows;
	void (*hottest)(void *rows, bool next);
	/* Goes to the next match of the search; false: there is none. */
	bool (*search)(void *rows, const struct view_share *s, bool backward);
};

/* Returns true if the key leaves the page. */
bool row_page_key(struct view *v, const struct row_page *page, int key);

#endif
