/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What all parts of the interactive view draw alike: shares of the whole, and what is being
 * searched. */
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
	bool counts;	/* numbers rather than percentages */
	regex_t search; /* if searching */
	bool searching;
	bool upwards; /* a child is a caller */
	int scroll;   /* characters of names that are scrolled off on the left */
};

#define SHARE_WIDTH 8

/* In SHARE_WIDTH columns from x on; the next column. */
int view_share_put(const struct view_share *s, int y, int x, uint64_t part);
/* Text that scrolls: *skip characters of it are left out, and taken off *skip. */
int view_share_text(int y, int x, enum screen_look look, const char *text, int *skip);
bool view_share_found(const struct view_share *s, const char *text);

#endif
