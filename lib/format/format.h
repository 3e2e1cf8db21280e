/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Declares the output formats of pcce-report, one function for each. A function returns 0 or
 * -ENOMEM, or another -errno if it cannot create a temporary file. The caller checks the stream for
 * write errors.
 */
#ifndef PCCE_FORMAT_FORMAT_H
#define PCCE_FORMAT_FORMAT_H

#include <stdio.h>
#include "profile/profile.h"

#define FORMAT_ROWS UINT64_MAX

struct format_options {
	double min_percent; /* percent of the total; lighter branches and functions are left out */
	unsigned int max_depth;	    /* frames; 0: all */
	uint64_t max_rows;	    /* limit of what grows with the number of samples; 0: no limit;
				       FORMAT_ROWS: as much as the format's readers can handle */
	struct cct_sort_order sort; /* for siblings in trees, and for rows */
	bool colors;
	bool quiet; /* print nothing on stderr */
};

int format_tree(const struct profile *p, const struct format_options *o, FILE *out);
int format_callees(const struct profile *p, const struct format_options *o, FILE *out);
int format_flat(const struct profile *p, const struct format_options *o, FILE *out);
int format_folded(const struct profile *p, const struct format_options *o, FILE *out);
/* Prints the threads and their creation contexts. */
int format_threads(const struct profile *p, const struct format_options *o, FILE *out);
int format_json(const struct profile *p, const struct format_options *o, FILE *out);
int format_html(const struct profile *p, const struct format_options *o, FILE *out);
/* The name of an enum pcce_loss. */
const char *format_loss_name(uint32_t reason);
int format_stats(const struct profile *p, FILE *out);

int format_pprof(const struct profile *p, const struct format_options *o, FILE *out);
/* Writes both profiles to one file, like go tool pprof -diff_base: the samples of the older one
 * have negative values. before may be NULL. */
int format_pprof_difference(const struct profile *now, const struct profile *before, FILE *out);
int format_perf(const struct profile *p, const struct format_options *o, FILE *out);
int format_speedscope(const struct profile *p, const struct format_options *o, FILE *out);
int format_jsonl(const struct profile *p, const struct format_options *o, FILE *out);
int format_callgrind(const struct profile *p, const struct format_options *o, FILE *out);
int format_dot(const struct profile *p, const struct format_options *o, FILE *out);
int format_firefox(const struct profile *p, const struct format_options *o, FILE *out);
int format_trace(const struct profile *p, const struct format_options *o, FILE *out);
int format_otlp(const struct profile *p, const struct format_options *o, FILE *out);

/* Functions that several formats use: */

/* The unit of weights. */
struct format_unit {
	const char *type, *unit; /* pprof's words */
	uint64_t scale;		 /* value of one unit of weight */
	bool clock;		 /* the unit is nanoseconds */
};
struct format_unit format_unit(const struct profile *p);
/* The unit of costs. The recording must have an event that counts them. */
struct format_unit format_cost_unit(const struct profile *p);

/* Returns the creation context of a thread as text (thread_origins_text()), "[several]" if it has
 * several, or "" if it is unknown. The caller frees the text. NULL: no memory. */
char *format_origin(const struct profile *p, const struct thread *t);
/* Returns the same for a name, which must be short: the innermost functions. */
char *format_short_origin(const struct profile *p, const struct thread *t);
/* Copies a sentence about what the recording left out (--only) to buffer, and returns that; "": it
 * left out nothing. */
const char *format_only(const struct profile *p, char *buffer, size_t size);
/* Says on stderr that the output is incomplete, unless o->quiet is set. */
void format_remark(const struct format_options *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Writes the name of a frame in a folded line: without semicolons and line feeds. */
void format_folded_name(const char *name, FILE *out);

#endif
