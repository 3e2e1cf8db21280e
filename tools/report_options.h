/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the command line of pcce-report. */
#ifndef PCCE_REPORT_OPTIONS_H
#define PCCE_REPORT_OPTIONS_H

#include "format/format_list.h"
#include "profile/profile.h"
#include "symbols/source_file.h"
#include "tools/store_options.h"

/* Exit statuses other than 0. */
#define REPORT_FAILED 1	 /* the recording cannot be read, or the output cannot be written */
#define REPORT_USAGE 2	 /* the command line is wrong */
#define REPORT_NOTHING 3 /* the recording has samples, but none is selected */

enum report_where { REPORT_AUTO, REPORT_TEXT, REPORT_VIEW };

struct report_options {
	struct store_options store;  /* that input names */
	const char *input, *output;  /* output NULL: standard output */
	const struct format *format; /* NULL: no format was named */
	enum report_where where;     /* text, or the interactive view */
	bool stats, quiet, inlining, no_kernel, origins, holders, full_names;
	bool hot_by_given;
	const char *by_label; /* NULL: contexts do not begin with a label */
	unsigned int verbose;
	enum symbol_table_style names;
	struct selection select;
	struct format_options print;	/* min_percent below 0: the format's own */
	struct source_file_dirs source; /* for the view and print.source */
	int colors;			/* 1 always, 0 never, -1 on terminals */
};

/* Exits with REPORT_USAGE if the command line is wrong, and with 0 after --help and the like. */
void report_options_parse(int argc, char **argv, struct report_options *o);
void report_options_free(struct report_options *o);

#endif
