/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writes logs with the contexts that they name. */
#ifndef PCCE_CONTEXTS_LOG_H
#define PCCE_CONTEXTS_LOG_H

#include <stdbool.h>
#include <stdio.h>
#include "api/dictionary.h"
#include "base/error.h"

struct context_log;

/* dictionaries: n paths, which are read now, and again when the log has a name that is new.
 * replace: the name is replaced by its context in one line. Else the context follows the line.
 * Returns NULL with a sentence in why. Problems of single contexts are printed once each. */
struct context_log *context_log_new(struct pcce_decode_dictionary *d, char **dictionaries, size_t n,
				    bool replace, struct error *why);
void context_log_free(struct context_log *l);

/* Writes a line, or its beginning; without its newline. 0 or -ENOMEM. */
int context_log_line(struct context_log *l, const char *line, size_t length, FILE *out);

#endif
