/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the list of output formats with their properties. */
#ifndef PCCE_FORMAT_FORMAT_LIST_H
#define PCCE_FORMAT_FORMAT_LIST_H

#include "format/format.h"

struct format {
	const char *name;
	const char *what; /* text for --help */
	int (*print)(const struct profile *p, const struct format_options *o, FILE *out);
	double min_percent; /* default of --min-percent */
	bool samples;	    /* needs single samples (profile_options.samples) */
	bool binary;	    /* not for terminals */
	bool all_events;    /* shows all events if none is selected; else the first */
	bool all_time;	    /* shows waits beside the first event if both add up to all time */
	bool costs;	    /* shows what calls cost (profile_options.cost) */
	bool short_names;   /* for people: shows names in short form */
	bool source;	    /* can contain source files (format_options.source) */
};

extern const struct format formats[]; /* the first is the default; the last has no name */

/* NULL: no format has this name. */
const struct format *format_find(const char *name);
/* Returns a list like "tree, flat or json" in buffer. */
const char *format_names(char *buffer, size_t size);

#endif
