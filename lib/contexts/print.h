/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Prints a context for people. */
#ifndef PCCE_CONTEXTS_PRINT_H
#define PCCE_CONTEXTS_PRINT_H

#include <pcce/decode.h>
#include <stdbool.h>
#include <stdio.h>

/* Innermost frame first: one line for each frame, or all in one line without a newline. */
void context_print(const struct pcce_decode_context *c, bool one_line, FILE *out);

#endif
