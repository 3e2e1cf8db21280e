/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A list with a current row, of which a part is on the screen; keys as in less and perf. */
#ifndef PCCE_VIEW_LIST_H
#define PCCE_VIEW_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct view_list {
	size_t n, at, top;
	size_t height; /* rows on the screen */
};

/* After n, at or height were changed. */
void view_list_fit(struct view_list *l);
/* Moves; false: the key is none that does. */
bool view_list_key(struct view_list *l, int key);
/* Makes a row the current one, and shows it in the middle if it was not on the screen. */
void view_list_go(struct view_list *l, size_t at);

#endif
