/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What covers the interactive view for a moment: a choice, or a text. */
#ifndef PCCE_VIEW_PAGES_H
#define PCCE_VIEW_PAGES_H

#include <stddef.h>

/* The user's choice; n: none. current: where the cursor stands first. */
size_t view_choose(const char *title, char *const *items, size_t n, size_t current);
/* Until the user has read it. Lines end in newlines. */
void view_read(const char *title, const char *text);

extern const char view_help[];

#endif
