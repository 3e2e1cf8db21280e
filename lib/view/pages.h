/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What covers the interactive view for a moment: a choice, or a text. */
#ifndef PCCE_VIEW_PAGES_H
#define PCCE_VIEW_PAGES_H

#include <stddef.h>

struct view_item {
	const char *text, *note; /* the note stands in a column of its own, or in the last line if
				    it is long */
};

/* The user's choice; n: none. The notes' column has the heading note; NULL: no item has one. */
size_t view_choose(const char *title, const char *note, const struct view_item *items, size_t n);
/* Until the user has read it. Lines end in newlines. */
void view_read(const char *title, const char *text);

extern const char view_help[];

#endif
