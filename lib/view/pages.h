/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shows a full-screen page over the interactive view: a list to choose from, or a text. */
#ifndef PCCE_VIEW_PAGES_H
#define PCCE_VIEW_PAGES_H

#include <stddef.h>

struct view_item {
	const char *text,
		*note; /* the note is in a second column, or in the last line if it is long */
};

/* Lets the user choose an item. Returns its index; n: cancelled. The column of notes has the
 * heading note; NULL: no item has a note. */
size_t view_choose(const char *title, const char *note, const struct view_item *items, size_t n);
/* Shows a text until the user leaves it. Each line ends in a newline. */
void view_read(const char *title, const char *text);

extern const char view_help[];

#endif
