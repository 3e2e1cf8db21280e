/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Implements the drawing of shares and scrolled names. */
#include <stdio.h>
#include "base/text.h"
#include "format/format.h"
#include "view/share.h"

int view_share_put(const struct view_share *s, int y, int x, uint64_t part)
{
	double percent = text_percent(part, s->all);
	enum screen_look look = percent >= 5 ? LOOK_HOT : percent >= 0.5 ? LOOK_WARM : LOOK_PLAIN;
	char text[32];

	if (s->counts)
		snprintf(text, sizeof(text), "%8llu", (unsigned long long)part);
	else
		snprintf(text, sizeof(text), "%7.1f%%", percent);
	return screen_put(y, x, screen_width(), look, text);
}

int view_share_text(int y, int x, enum screen_look look, const char *text, int *skip)
{
	for (; *text && *skip > 0; --*skip)
		do
			text++;
		while ((*text & 0xc0) == 0x80);
	return screen_put(y, x, screen_width(), look, text);
}

bool view_share_found(const struct view_share *s, const char *text)
{
	return s->searching && !regexec(&s->search, text, 0, NULL, 0);
}
