/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Holds the table of the columns of the interactive view, and draws them. */
#include <stdio.h>
#include <string.h>
#include "base/text.h"
#include "tree/flat_profile.h"
#include "view/assembly.h"
#include "view/columns.h"
#include "view/source.h"

/* Writes a number of bytes as wide as a column, such as 1.5K. */
static void put_short_bytes(char *to, size_t size, uint64_t n)
{
	char bytes[32];

	text_bytes(bytes, sizeof(bytes), n);
	bytes[strcspn(bytes, "i")] = 0;
	snprintf(to, size, "%8s", bytes);
}

static int put_share(const struct view_share *s, int y, int x, uint64_t part)
{
	double percent = text_percent(part, s->all);
	enum screen_look look = percent >= 5 ? LOOK_HOT : percent >= 0.5 ? LOOK_WARM : LOOK_PLAIN;
	char text[32];

	if (s->counts && s->bytes)
		put_short_bytes(text, sizeof(text), part);
	else if (s->counts)
		snprintf(text, sizeof(text), " %7llu", (unsigned long long)part);
	else
		snprintf(text, sizeof(text), "%7.1f%%", percent);
	return screen_put(y, x, screen_width(), look, text);
}

static int put_amount(const struct view_share *s, int y, int x, uint64_t number)
{
	char text[32];

	(void)s;
	snprintf(text, sizeof(text), "%9llu", (unsigned long long)number);
	return screen_put(y, x, screen_width(), LOOK_PLAIN, text);
}

/* The columns of each page, from left to right. */
static const struct {
	enum view_tab tab;
	const char *heading; /* as wide as the column */
	int (*put)(const struct view_share *s, int y, int x, uint64_t number);
	size_t number; /* its offset in the row */
} columns[] = {
	{CALLERS, "   total", put_share, offsetof(struct cct_node, total)},
	{CALLERS, "    self", put_share, offsetof(struct cct_node, self)},
	{CALLEES, "   share", put_share, offsetof(struct cct_node, total)},
	{FUNCTIONS, "    self", put_share, offsetof(struct flat_profile_row, self)},
	{FUNCTIONS, "   total", put_share, offsetof(struct flat_profile_row, total)},
	{FUNCTIONS, "  samples", put_amount, offsetof(struct flat_profile_row, samples)},
	{SOURCE, "   total", put_share, offsetof(struct view_line, total)},
	{SOURCE, "    self", put_share, offsetof(struct view_line, self)},
	{ASSEMBLY, "    self", put_share, offsetof(struct view_instruction, self)},
};

#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

void view_columns_head(enum view_tab tab, int y, const char *text)
{
	int x = 0;

	for (size_t i = 0; i < N_COLUMNS; i++)
		if (columns[i].tab == tab)
			x = screen_put(y, x, screen_width(), LOOK_BOLD, columns[i].heading);
	screen_put(y, x, screen_width(), LOOK_BOLD, text);
}

int view_columns_put(const struct view_share *s, enum view_tab tab, int y, const void *row)
{
	int x = 0;

	for (size_t i = 0; i < N_COLUMNS; i++) {
		uint64_t number;

		if (columns[i].tab != tab)
			continue;
		memcpy(&number, (const char *)row + columns[i].number, sizeof(number));
		x = number == VIEW_NO_NUMBER ? x + (int)strlen(columns[i].heading)
					     : columns[i].put(s, y, x, number);
	}
	return x;
}
