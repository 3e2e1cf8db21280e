/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Draws the columns of numbers that precede the names of each page of the interactive view. */
#ifndef PCCE_VIEW_COLUMNS_H
#define PCCE_VIEW_COLUMNS_H

#include <stdint.h>
#include "view/share.h"

/* The pages of source and assembly are no tabs: they lie over one. */
enum view_tab { CALLERS, CALLEES, FUNCTIONS, TABS, SOURCE = TABS, ASSEMBLY };

#define VIEW_NO_NUMBER UINT64_MAX /* its column stays empty */

/* Writes the headings of a page's columns in line y, and then the heading of the text. */
void view_columns_head(enum view_tab tab, int y, const char *text);
/* Writes the numbers of a row in line y, and returns the column after them. The row is a struct
 * cct_node of a tree, a struct flat_profile_row of the functions, a struct view_line or a
 * struct view_instruction. */
int view_columns_put(const struct view_share *s, enum view_tab tab, int y, const void *row);

#endif
