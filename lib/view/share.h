/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Keeps how the interactive view shows shares and names: what 100% is, numbers or percentages, how
 * far names scroll, and the pattern of the current search. */
#ifndef PCCE_VIEW_SHARE_H
#define PCCE_VIEW_SHARE_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include "symbols/symbol_table.h"
#include "view/screen.h"

struct view_share {
	const struct symbol_table *names;
	uint64_t all;	/* 100 percent */
	bool counts;	/* numbers instead of percentages */
	bool bytes;	/* the numbers are bytes */
	regex_t search; /* valid if searching */
	bool searching;
	bool upwards; /* children are callers */
	bool plain;   /* frame_text_plain() */
	int scroll;   /* characters of names that are scrolled out on the left */
};

/* Writes a text without its first *skip characters, and subtracts the skipped ones from *skip. */
int view_share_text(int y, int x, enum screen_look look, const char *text, int *skip);
/* Whether the search matches a name, in full or as people see it. */
bool view_share_found(const struct view_share *s, uint32_t name);
bool view_share_found_text(const struct view_share *s, const char *text);

#endif
