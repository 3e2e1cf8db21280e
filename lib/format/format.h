/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The output formats of pcce-report, one function each.  They return 0 or -ENOMEM, or
 * another -errno if there is no temporary file; the caller looks whether the stream took it all.
 */
#ifndef PCCE_FORMAT_FORMAT_H
#define PCCE_FORMAT_FORMAT_H

#include <stdio.h>
#include "profile/profile.h"

#define FORMAT_ROWS UINT64_MAX

struct format_options {
	double min_percent;	/* branches and functions with less of the total are left out */
	unsigned int max_depth; /* frames; 0: all */
	uint64_t max_rows; /* of what grows with the number of samples; 0: all; FORMAT_ROWS: as many
			    * as its readers bear
			    */
	struct cct_sort_order sort; /* of siblings in trees, and of rows */
	bool colors;
	bool quiet; /* nothing is said on stderr */
};

int format_tree(const struct profile *p, const struct format_options *o, FILE *out);
int format_callees(const struct profile *p, const struct format_options *o, FILE *out);
int format_flat(const struct profile *p, const struct format_options *o, FILE *out);
int format_folded(const struct profile *p, const struct format_options *o, FILE *out);
/* The threads, and what created them. */
int format_threads(const struct profile *p, const struct format_options *o, FILE *out);
int format_json(const struct profile *p, const struct format_options *o, FILE *out);
int format_html(const struct profile *p, const struct format_options *o, FILE *out);
int format_stats(const struct profile *p, FILE *out);

int format_pprof(const struct profile *p, const struct format_options *o, FILE *out);
/* Both in one file, in which what was before counts as less than nothing, as go tool pprof
 * -diff_base has it; before may be NULL. */
int format_pprof_difference(const struct profile *now, const struct profile *before, FILE *out);
int format_perf(const struct profile *p, const struct format_options *o, FILE *out);
int format_speedscope(const struct profile *p, const struct format_options *o, FILE *out);
int format_jsonl(const struct profile *p, const struct format_options *o, FILE *out);
int format_callgrind(const struct profile *p, const struct format_options *o, FILE *out);
int format_dot(const struct profile *p, const struct format_options *o, FILE *out);
int format_firefox(const struct profile *p, const struct format_options *o, FILE *out);
int format_trace(const struct profile *p, const struct format_options *o, FILE *out);
int format_otlp(const struct profile *p, const struct format_options *o, FILE *out);

/* Shared by the formats: */

/* What weights are of. */
struct format_unit {
	const char *type, *unit; /* as pprof calls them */
	uint64_t scale;		 /* of one unit of weight */
	bool clock;		 /* it is time, in nanoseconds */
};
struct format_unit format_unit(const struct profile *p);

/* The chain of calls that created a thread, in words (thread_origins_text()); [several]; or "" if
 * it is not known. To be freed; NULL: no memory. */
char *format_origin(const struct profile *p, const struct thread *t);
/* Says on stderr that not everything is in the output. */
void format_remark(const struct format_options *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A frame of a folded line: without blanks and semicolons. */
void format_folded_name(const char *name, FILE *out);

#endif
