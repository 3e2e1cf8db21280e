/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The interactive view of a recording. */
#ifndef PCCE_VIEW_VIEW_H
#define PCCE_VIEW_VIEW_H

#include "format/format.h"
#include "symbols/source_file.h"

struct view_options {
	const char *input;		/* the recording's name, as the user gave it */
	const struct selection *select; /* what the command line selects */
	struct format_options print;	/* min_percent below 0: the default of the tree format */
	struct source_file_dirs source; /* where to look for source files */
	bool colors;
};

/*
 * Until the user leaves. The profile was loaded with options.again and lines. 0; -ENOTTY: there is
 * no terminal that could do it, and nothing was shown; -ENOMEM.
 */
int view_run(struct profile *p, const struct view_options *o);

#endif
