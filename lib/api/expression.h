/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Parses expressions over functions: which contexts a set has.
 *
 *	f < g     f was called by g
 *	f << g    f was called by g, or by something that g called
 *	f <<< g   the same, or in a thread that was created there, by any number of threads
 *
 * The functions are written as pcce-decode --replace prints them, innermost first, so a context
 * from a log is an expression.  The chain can be anywhere in a context.  `<`, `<<` and `<<<` are
 * words: spaces are around them, since names of C++ contain the first two.  A star in a name
 * matches any text.
 */
#ifndef PCCE_API_EXPRESSION_H
#define PCCE_API_EXPRESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <pcce/context_set.h>
#include "base/error.h"

#define EXPRESSION_PARTS (PCCE_SET_STATES - 1)

struct expression {
	char *name[EXPRESSION_PARTS]; /* innermost first */
	bool any[EXPRESSION_PARTS];   /* other frames can follow, before the next part */
	bool cross[EXPRESSION_PARTS]; /* with any: also the beginning of a thread */
	unsigned int n;
};

/* 0, or -EINVAL or -ENOMEM with a sentence in why. */
int expression_parse(const char *text, struct expression *e, struct error *why);
void expression_free(struct expression *e);

/* The parts that a function with this assembler name matches: a bit for each. */
uint8_t expression_match(const struct expression *e, const char *symbol);

/* The matrix of a frame that matches these parts. */
uint64_t expression_frame(const struct expression *e, uint8_t parts);
/* Can a chain begin in a thread and end in its creation context? */
bool expression_crosses(const struct expression *e);
/* The matrix of the beginning of a thread, behind which its creation context follows. A chain does
 * not begin behind it. */
uint64_t expression_thread(const struct expression *e);

#endif
