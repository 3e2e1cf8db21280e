/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints frames, shares and headings for people, on a terminal in colours. */
#ifndef PCCE_FORMAT_FRAME_TEXT_H
#define PCCE_FORMAT_FRAME_TEXT_H

#include <stdbool.h>
#include <stdio.h>
#include "profile/profile.h"

/* name  file:line  (inlined)  × 3 */
struct frame_text {
	const struct symbol_table *names;
	bool upwards; /* the other frames of a repeated group are above */
	bool colors;
};

void frame_text_print(const struct frame_text *f, const struct cct_node *n, FILE *out);
/* Prints only what follows the name. */
void frame_text_more(const struct frame_text *f, const struct cct_node *n, FILE *out);

/* Prints a percentage as wide as "%*.*f%%" makes it. The colour depends on the percentage. */
void frame_text_percent(bool colors, int width, int digits, double percent, FILE *out);

/* Prints a line like "35 of 87 samples of cpu-clock: command"; with --hot, also what is hot. */
void frame_text_head(const struct profile *p, FILE *out);

#endif
