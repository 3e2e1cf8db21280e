/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adds lists, such as that of all formats, to what --help prints. Completions read them there. */
#ifndef PCCE_BASE_HELP_LIST_H
#define PCCE_BASE_HELP_LIST_H

#include <stdio.h>

/* To be called by a help_filter of argp, with its key and text. Prints lists between the options
 * and the text that follows them, and returns what a help_filter returns. Each list begins with a
 * line of its title and a colon, and an empty line precedes the next one. */
char *help_list(int key, const char *text, void (*print)(FILE *out));

#endif
