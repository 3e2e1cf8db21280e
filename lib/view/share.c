/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the drawing of scrolled names, and the search in names. */
#include "view/share.h"

int view_share_text(int y, int x, enum screen_look look, const char *text, int *skip)
{
	for (; *text && *skip > 0; --*skip)
		do
			text++;
		while ((*text & 0xc0) == 0x80);
	return screen_put(y, x, screen_width(), look, text);
}

bool view_share_found(const struct view_share *s, uint32_t name)
{
	return view_share_found_text(s, symbol_table_string(s->names, name)) ||
	       view_share_found_text(s, symbol_table_short(s->names, name));
}

bool view_share_found_text(const struct view_share *s, const char *text)
{
	return s->searching && !regexec(&s->search, text, 0, NULL, 0);
}
