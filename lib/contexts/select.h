/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes sets of contexts to files. */
#ifndef PCCE_CONTEXTS_SELECT_H
#define PCCE_CONTEXTS_SELECT_H

#include <stddef.h>
#include "base/error.h"

/* Computes the set (pcce_decode_select) and writes it to the file, which is replaced at once. 0, or
 * -errno with a sentence in why. */
int contexts_select(const char *expression, char **files, size_t n, const char *output,
		    struct error *why);

#endif
