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
#include "symbols/source_file.h"

#define FORMAT_ROWS UINT64_MAX

struct format_options {
	double min_percent; /* percent of the total; lighter branches and functions are left out */
	unsigned int max_depth;	    /* frames; 0: all */
	uint64_t max_rows;	    /* limit of what grows with the number of samples; 0: no limit;
				       FORMAT_ROWS: as much as the format's readers can handle */
	struct cct_sort_order sort; /* for siblings in trees, and for rows */
	const struct source_file_dirs *source; /* where source files are, which the output shall
						  contain; NULL: it contains none */
	bool colors;
	bool quiet; /* print nothing on stderr */
};

/*
 * The formats, in the order of --help; the first is the default. For each: its name, its text for
 * --help, its function, and those fields of struct format (format_list.h) that are not 0.
 */
#define FORMATS(X)                                                                                \
	X("tree", "calling context tree as text, callers first", format_tree, .min_percent = 0.5, \
	  .costs = true, .short_names = true)                                                     \
	X("callees", "functions in which samples were taken, with their callers", format_callees, \
	  .min_percent = 0.5, .short_names = true)                                                \
	X("flat", "functions by self share and total share", format_flat, .costs = true,          \
	  .short_names = true)                                                                    \
	X("threads", "threads by total share, with their creation contexts", format_threads,      \
	  .samples = true, .short_names = true)                                                   \
	X("locks", "who blocks whom: waits for locks, with those who ended them", format_locks,   \
	  .min_percent = 0.5, .samples = true, .all_events = true, .short_names = true)           \
	X("latency", "how long executions of functions took, by context", format_latency,         \
	  .min_percent = 0.5, .samples = true, .short_names = true)                               \
	X("commands", "commands by total share, with their processes", format_commands,           \
	  .samples = true)                                                                        \
	X("folded", "one line for each context, for flame graph tools", format_folded)            \
	X("json", "all data, for programs", format_json)                                          \
	X("jsonl", "JSON lines, one for each context", format_jsonl, .samples = true)             \
	X("html", "page for a browser: flame graph, tables, threads over time", format_html,      \
	  .samples = true, .all_events = true, .short_names = true, .source = true)               \
	X("pprof", "for go tool pprof and compatible tools", format_pprof, .samples = true,       \
	  .all_events = true, .binary = true)                                                     \
	X("speedscope", "for speedscope", format_speedscope, .samples = true)                     \
	X("firefox", "for the Firefox profiler", format_firefox, .samples = true,                 \
	  .all_time = true)                                                                       \
	X("trace", "timelines for Perfetto, chrome://tracing and DevTools", format_trace,         \
	  .samples = true, .all_time = true)                                                      \
	X("otlp", "OpenTelemetry profiles", format_otlp, .samples = true, .binary = true)         \
	X("perf-script", "text like that of perf script, for tools that read it", format_perf,    \
	  .samples = true)                                                                        \
	X("callgrind", "for callgrind_annotate and KCachegrind", format_callgrind,                \
	  .samples = true)                                                                        \
	X("dot", "graph of functions and calls, for Graphviz", format_dot, .min_percent = 0.5,    \
	  .short_names = true)

#define FORMAT_FUNCTION(name, what, print, ...) \
	int print(const struct profile *p, const struct format_options *o, FILE *out);
FORMATS(FORMAT_FUNCTION)

/* The name of an enum pcce_loss. */
const char *format_loss_name(uint32_t reason);
int format_stats(const struct profile *p, FILE *out);

/* Writes both profiles to one file, like go tool pprof -diff_base: the samples of the older one
 * have negative values. before may be NULL. */
int format_pprof_difference(const struct profile *now, const struct profile *before, FILE *out);

/* Functions that several formats use: */

/* The unit of weights. */
struct format_unit {
	const char *type, *unit; /* pprof's words */
	uint64_t scale;		 /* value of one unit of weight */
	bool clock;		 /* the unit is nanoseconds */
	bool bytes;		 /* the unit is bytes, and each sample an allocation */
	const char *samples;	 /* pprof's word for the number of samples */
};
struct format_unit format_unit(const struct profile *p);
/* The unit of one of several events. */
struct format_unit format_event_unit(const struct profile *p, uint32_t event, const char *name);
/* The unit of costs. The recording must have an event that counts them. */
struct format_unit format_cost_unit(const struct profile *p);

/* Returns the creation context of a thread as text (thread_origins_text()), "[several]" if it has
 * several, or "" if it is unknown. The caller frees the text. NULL: no memory. */
char *format_origin(const struct profile *p, const struct thread *t);
/* Returns the same for a name, which must be short: the innermost functions. */
char *format_short_origin(const struct profile *p, const struct thread *t);
/* Returns the context of a node in one line, the outermost function first; only `most` innermost
 * ones if that is not 0. The caller frees the text. NULL: no memory. */
char *format_chain(const struct profile *p, const struct cct *t, uint32_t node, unsigned int most);
/* Copies a sentence about what the recording left out (--only) to buffer, and returns that; "": it
 * left out nothing. */
const char *format_only(const struct profile *p, char *buffer, size_t size);
/* Says on stderr that the output is incomplete, unless o->quiet is set. */
void format_remark(const struct format_options *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Writes the name of a frame in a folded line: without semicolons and line feeds. */
void format_folded_name(const char *name, FILE *out);

#endif
