/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds the names that a person may have meant by a misspelled one. */
#ifndef PCCE_BASE_SIMILAR_H
#define PCCE_BASE_SIMILAR_H

#include <stddef.h>

/*
 * Appends name to list ("cycles, ref-cycles") if `wanted` may be a misspelling of it. It may be one
 * if it is the beginning of the name, or if few changes turn it into the name: at most one for
 * three letters, and at most three. A change inserts, removes or replaces a letter, or swaps two.
 * The list begins as an empty text.
 */
void similar_add(char *list, size_t size, const char *wanted, const char *name);

#endif
