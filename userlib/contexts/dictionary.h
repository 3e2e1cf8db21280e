/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the dictionary of contexts (dictionary.c). All is async-signal-safe. */
#ifndef PCCE_USERLIB_DICTIONARY_H
#define PCCE_USERLIB_DICTIONARY_H

#include "contexts/words.h"
#include "pcce.h"

#pragma GCC visibility push(hidden)

/* What a line says: a list of elements on top of another one. */
struct dictionary_line {
	char what; /* 's' or 'c' */
	struct pcce_name name;
	bool has_parent, gap; /* a gap: older entries are not known */
	struct pcce_name parent;
	struct element_list list;	    /* a segment's newest calls are not part of its line */
	const struct context_element *more; /* elements above the list */
	unsigned int n_more;
};

void dictionary_begin(void);
/* Is this name, or module, in the dictionary already? If not, the caller must add it now. */
bool dictionary_knows(struct pcce_name name);
void dictionary_add(struct namer *n, const struct dictionary_line *line);
/* Writes lines from *at on, which is 0 at first, also those that were written before. */
void dictionary_write_from(int fd, uint64_t *at);

/* context_id.c: names the context of a handler that the runtime runs; the handler itself is not in
 * it. */
void state_name_in_handler(struct pcce_id *id);

#pragma GCC visibility pop

#endif
