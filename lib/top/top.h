/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shows the hottest functions and contexts of running processes, again and again. */
#ifndef PCCE_TOP_TOP_H
#define PCCE_TOP_TOP_H

#include "format/format_list.h"
#include "record/record.h"

struct top_options {
	uint64_t delay;	 /* ns between two turns */
	uint64_t window; /* ns of samples that are shown; 0: those since the last turn */
	uint64_t turns;	 /* after which it ends; 0: does not end */
	bool batch;	 /* print text; else show the view */
	const struct format *format; /* of batch */
};

/* Records with these options, whose `live` it sets, until the user ends it. Returns the exit status
 * for main(), after messages. */
int top_run(const struct top_options *o, struct record_options *record);

#endif
