/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How frames, shares and headings read, wherever a person reads them; and in which colours, on a
 * terminal. */
#ifndef PCCE_FORMAT_FRAME_TEXT_H
#define PCCE_FORMAT_FRAME_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include "profile/profile.h"

/* name  file:line  (inlined)  × 3 */
struct frame_text {
	const struct symbol_table *names;
	bool upwards; /* the other frames of a repeated group stand above */
	bool colors;
};

void frame_text_print(const struct frame_text *f, const struct cct_node *n, FILE *out);
/* What stands behind the name only. */
void frame_text_more(const struct frame_text *f, const struct cct_node *n, FILE *out);

/* A percentage as wide as "%*.*f%%" makes it, in the colour of its weight. */
void frame_text_percent(bool colors, int width, int digits, double percent, FILE *out);

/* "35 of 87 samples of cpu-clock: command" and a newline */
void frame_text_head(const struct profile *p, FILE *out);

#endif
