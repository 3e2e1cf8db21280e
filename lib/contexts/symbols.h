/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adds names, files and lines from debug information to the contexts of a dictionary. */
#ifndef PCCE_CONTEXTS_SYMBOLS_H
#define PCCE_CONTEXTS_SYMBOLS_H

#include "api/context.h"
#include "api/dictionary.h"

/* Adds them to all contexts from the `from`-th list of the dictionary on. A file that cannot be
 * read adds nothing. 0 or -ENOMEM. */
int contexts_add_symbols(struct pcce_decode_dictionary *d, size_t from);

/* Adds them to the context that was decoded last. Its modules are files. 0 or -ENOMEM; decode it
 * again then. */
int context_add_symbols(struct pcce_decode_context *c);

#endif
