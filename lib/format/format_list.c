/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Defines the list of output formats, and searches it by name. */
#include <stdio.h>
#include <string.h>
#include "format/format_list.h"

const struct format formats[] = {
	{"tree", "calling context tree as text, callers first", format_tree, 0.5, false, false,
	 true},
	{"callees", "functions in which samples were taken, with their callers", format_callees,
	 0.5, false, false, false},
	{"flat", "functions by self share and total share", format_flat, 0, false, false, true},
	{"threads", "threads by total share, with their creation contexts", format_threads, 0, true,
	 false, false},
	{"folded", "one line for each context, for flame graph tools", format_folded, 0, false,
	 false, false},
	{"json", "all data, for programs", format_json, 0, false, false, false},
	{"jsonl", "JSON lines, one for each context", format_jsonl, 0, true, false, false},
	{"html", "page for a browser: flame graph, tables, threads over time", format_html, 0, true,
	 false, false},
	{"pprof", "for go tool pprof and compatible tools", format_pprof, 0, true, true, false},
	{"speedscope", "for speedscope", format_speedscope, 0, true, false, false},
	{"firefox", "for the Firefox profiler", format_firefox, 0, true, false, false},
	{"trace", "timelines for Perfetto, chrome://tracing and DevTools", format_trace, 0, true,
	 false, false},
	{"otlp", "OpenTelemetry profiles", format_otlp, 0, true, true, false},
	{"perf-script", "text like that of perf script, for tools that read it", format_perf, 0,
	 true, false, false},
	{"callgrind", "for callgrind_annotate and KCachegrind", format_callgrind, 0, true, false,
	 false},
	{"dot", "graph of functions and calls, for Graphviz", format_dot, 0.5, false, false, false},
	{0},
};

const struct format *format_find(const char *name)
{
	for (const struct format *f = formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}

const char *format_names(char *buffer, size_t size)
{
	size_t at = 0;

	*buffer = 0;
	for (const struct format *f = formats; f->name && at < size; f++) {
		const char *between = f == formats ? "" : f[1].name ? ", " : " or ";

		at += (size_t)snprintf(buffer + at, size - at, "%s%s", between, f->name);
	}
	return buffer;
}
