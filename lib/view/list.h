/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Keeps a list with a current row, of which a window is on the screen. The keys are those of less
 * and perf. */
#ifndef PCCE_VIEW_LIST_H
#define PCCE_VIEW_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct view_list {
	size_t n, at, top;
	size_t height; /* rows on the screen */
};

/* Repairs at and top after a change of n, at or height. */
void view_list_fit(struct view_list *l);
/* Handles a key that moves in the list; false: another key. */
bool view_list_key(struct view_list *l, int key);
/* Makes a row the current one. Moves it to the middle of the screen if it was not visible. */
void view_list_go(struct view_list *l, size_t at);

#endif
