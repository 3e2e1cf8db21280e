/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The list of output formats. */
#ifndef PCCE_FORMAT_FORMAT_LIST_H
#define PCCE_FORMAT_FORMAT_LIST_H

#include "format/format.h"

struct format {
	const char *name;
	const char *what; /* for --help */
	int (*print)(const struct profile *p, const struct format_options *o, FILE *out);
	double min_percent; /* unless told otherwise */
	bool samples;	    /* it wants single samples (profile_options.samples) */
	bool binary;	    /* not for terminals */
};

extern const struct format formats[]; /* the default first; the last has no name */

/* NULL: there is none of this name. */
const struct format *format_find(const char *name);
/* "tree, flat or json" */
const char *format_names(char *buffer, size_t size);

#endif
