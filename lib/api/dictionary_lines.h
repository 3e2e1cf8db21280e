/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the lines of dictionaries (include/pcce/dictionary.h). */
#ifndef PCCE_API_DICTIONARY_LINES_H
#define PCCE_API_DICTIONARY_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pcce/dictionary.h>
#include "base/id_map.h"

struct dictionary_module {
	struct pcce_name name;
	uint8_t build_id[PCCE_BUILD_ID_MAX];
	uint32_t build_id_size;
	uint8_t encoding[16];
	char *path; /* NULL: only its name is known so far */
};

/* A word of an element. */
enum { DICTIONARY_NUMBER = 0, DICTIONARY_UNKNOWN = UINT32_MAX };

struct dictionary_element {
	uint64_t first, second;
	/* DICTIONARY_*, or the index of a module + 1. */
	uint32_t first_module, second_module;
	uint32_t kind;
};

/* A segment or a context. */
struct dictionary_list {
	struct pcce_name name, parent;
	bool has_parent, context;
	size_t first, n; /* in elements */
};

struct dictionary_lines {
	struct dictionary_module *modules;
	size_t n_modules;
	struct dictionary_list *lists; /* contexts and segments */
	size_t n_lists, lists_capacity;
	struct dictionary_element *elements;
	size_t n_elements, elements_capacity;
	struct id_map by_name; /* of lists */
	uint64_t damaged;      /* lines */
};

/* Adds a line, without its newline. A damaged line is counted, and changes nothing else. 0 or
 * -ENOMEM. */
int dictionary_lines_add(struct dictionary_lines *d, const char *line, size_t length);
/* The list of this name, or NULL. */
const struct dictionary_list *dictionary_lines_find(struct dictionary_lines *d, bool context,
						    struct pcce_name name);
void dictionary_lines_free(struct dictionary_lines *d);

#endif
