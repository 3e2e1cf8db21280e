/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the interactive view of a recording. */
#ifndef PCCE_VIEW_VIEW_H
#define PCCE_VIEW_VIEW_H

#include "format/format.h"
#include "symbols/source_file.h"

/* A profile that changes while it is shown. */
struct view_live {
	/* As of screen_set_idle(): whether a turn is due. */
	int (*idle)(void *ctx);
	/* Changes the profile. 0 or -ENOMEM. */
	int (*turn)(void *ctx);
	void *ctx;
	char head[1024]; /* what the first line says */
};

struct view_options {
	const char *input;		/* file name of the recording as the user wrote it */
	const struct selection *select; /* the selection of the command line */
	struct format_options print;	/* min_percent below 0: the default of the tree format */
	struct source_file_dirs source; /* directories for source files */
	bool colors, full_names;
	struct view_live *live; /* NULL: the profile stays as it is */
};

/*
 * Runs the view until the user leaves it. The profile must have been loaded with options.again and
 * lines. Returns 0 or -ENOMEM, or -ENOTTY if the terminal cannot show the view. In this case it
 * showed nothing.
 */
int view_run(struct profile *p, const struct view_options *o);

#endif
