/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See format_list.h. */
#include <stdio.h>
#include <string.h>
#include "format/format_list.h"

const struct format formats[] = {
	{"tree", "readable calling context tree, callers first", format_tree, 0.5, false, false},
	{"callees", "functions in which samples were taken, and who called them", format_callees,
	 0.5, false, false},
	{"flat", "functions by own and by total share", format_flat, 0, false, false},
	{"threads", "threads by total share, and what created them", format_threads, 0, true,
	 false},
	{"folded", "one line a context, for flame graph tools", format_folded, 0, false, false},
	{"json", "everything, for programs", format_json, 0, false, false},
	{"jsonl", "JSON lines: a context in a thread a line", format_jsonl, 0, true, false},
	{"html", "one page for a browser: flame graph, tables, threads over time", format_html, 0,
	 true, false},
	{"pprof", "for go tool pprof and what reads its files", format_pprof, 0, true, true},
	{"speedscope", "for speedscope", format_speedscope, 0, true, false},
	{"firefox", "for the Firefox profiler", format_firefox, 0, true, false},
	{"trace", "timelines for Perfetto, chrome://tracing and DevTools", format_trace, 0, true,
	 false},
	{"otlp", "OpenTelemetry profiles", format_otlp, 0, true, true},
	{"perf-script", "as perf script prints samples, for what reads that", format_perf, 0, true,
	 false},
	{"callgrind", "for callgrind_annotate and KCachegrind", format_callgrind, 0, true, false},
	{"dot", "the graph of functions and calls, for Graphviz", format_dot, 0.5, false, false},
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
