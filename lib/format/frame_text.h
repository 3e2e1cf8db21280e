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
	bool plain; /* frame_text_plain() */
};

/* Whether nothing that is selected is instrumented, so that no frame need say so. */
bool frame_text_plain(const struct profile *p);

void frame_text_print(const struct frame_text *f, const struct cct_node *n, FILE *out);
/* Prints only what follows the name. */
void frame_text_more(const struct frame_text *f, const struct cct_node *n, FILE *out);

/* Prints a percentage as wide as "%*.*f%%" makes it. The colour depends on the percentage. */
void frame_text_percent(bool colors, int width, int digits, double percent, FILE *out);

/* If p->cost has an event: prints the columns of what calls cost, and their heading. */
void frame_text_costs(const struct profile *p, uint64_t calls, uint64_t cost, uint64_t total_cost,
		      FILE *out);
void frame_text_costs_head(const struct profile *p, FILE *out);
/* As many blanks as that. */
void frame_text_no_costs(FILE *out);

/* Prints a line like "35 of 87 samples of cpu-clock: command"; with --hot, also what is hot,
 * and with costs, of which samples they are. */
void frame_text_head(const struct profile *p, FILE *out);

#endif
