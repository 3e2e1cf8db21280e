/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adds a list, such as that of all formats, to what --help prints. Completions read it there. */
#ifndef PCCE_BASE_HELP_LIST_H
#define PCCE_BASE_HELP_LIST_H

#include <stdio.h>

/* To be called by a help_filter of argp, with its key and text. Prints the list between the options
 * and the text that follows them, and returns what a help_filter returns. */
char *help_list(int key, const char *text, const char *title, void (*print)(FILE *out));

#endif
