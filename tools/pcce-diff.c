/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Compares two recordings: the command line of pcce-diff. lib/diff does the work. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/help_list.h"
#include "base/message.h"
#include "diff/diff.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "tree/selection.h"

const char *argp_program_version = "pcce-diff " PCCE_VERSION;

enum {
	OPT_FORMAT = 256,
	OPT_BY,
	OPT_EVENT,
	OPT_MIN_PERCENT,
	OPT_NO_INLINE,
	OPT_NO_KERNEL,
	OPT_FULL_NAMES,
	OPT_ABSOLUTE,
};

static const struct format {
	const char *name, *what;
	int (*print)(const struct diff *d, const struct diff_options *o, FILE *out);
	bool samples, binary, short_names;
} formats[] = {
	{"text", "tables of what changed (default)", diff_text, false, false, true},
	{"html", "one page for a browser: a difference flame graph, tables", diff_html, false,
	 false, true},
	{"pprof", "for go tool pprof; equals the result of -diff_base", diff_pprof, true, true,
	 false},
	{"folded", "one line for each context with both counts, for flamegraph.pl", diff_folded,
	 false, false, false},
	{"json", "the tables, for programs", diff_json, false, false, false},
};

struct arguments {
	const char *inputs[2], *output;
	struct selection select; /* events */
	int n;
	const struct format *format;
	enum diff_by by;
	bool all, inlining, no_kernel, rows_given, full_names, absolute;
	double min_percent;
	size_t max_rows;
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0, "Write to FILE (default, and -: standard output)", 0},
	{"format", OPT_FORMAT, "FORMAT", 0, "Print in this format, see below (default: text)", 0},
	{"by", OPT_BY, "WHAT", 0,
	 "Distinguish contexts by calls or by names of functions (default: calls if both "
	 "recordings are of one build, otherwise names)",
	 0},
	{"event", OPT_EVENT, "EVENT,...", 0, "Select events by name, or by number from 0", 0},
	{"all", 'a', NULL, 0, "Show also what may be due to chance (text, json)", 0},
	{"lines", 'n', "N", 0,
	 "Print at most N lines of each table (text, json; default: 20 for text; 0: all)", 0},
	{"min-percent", OPT_MIN_PERCENT, "P", 0,
	 "Show only changes of P percentage points or more (text, json)", 0},
	{"absolute", OPT_ABSOLUTE, NULL, 0,
	 "Compare times or counts in place of shares, for runs that did equal work (text, json)",
	 0},
	{"no-inline", OPT_NO_INLINE, NULL, 0, "Show no frames for inlined functions", 0},
	{"no-kernel", OPT_NO_KERNEL, NULL, 0, "Show no frames for the kernel's functions", 0},
	{"full-names", OPT_FULL_NAMES, NULL, 0, "Do not shorten C++ names (text, html)", 0},
	{0},
};

static error_t parse_diff_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct error why = {0};
	char *end;

	switch (key) {
	case 'o':
		a->output = strcmp(arg, "-") ? arg : NULL;
		return 0;
	case 'a':
		a->all = true;
		return 0;
	case 'n':
		errno = 0;
		a->max_rows = strtoul(arg, &end, 10);
		a->rows_given = true;
		if (errno || end == arg || *end || *arg == '-')
			message_usage(state, "cannot use --lines=%s: it must be a number", arg);
		return 0;
	case OPT_FORMAT:
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
			if (!strcmp(arg, formats[i].name)) {
				a->format = &formats[i];
				return 0;
			}
		}
		message_usage(state,
			      "cannot print format '%s': there is no such format; use text, html, "
			      "pprof, folded or json",
			      arg);
		return EINVAL;
	case OPT_BY:
		if (strcmp(arg, "calls") && strcmp(arg, "names"))
			message_usage(state, "cannot use --by=%s: it must be calls or names", arg);
		a->by = *arg == 'c' ? DIFF_BY_CALLS : DIFF_BY_NAMES;
		return 0;
	case OPT_EVENT:
		return message_option(state, "event",
				      select_add_words(&a->select.events, arg, &why), why.text);
	case OPT_MIN_PERCENT:
		errno = 0;
		a->min_percent = strtod(arg, &end);
		if (errno || end == arg || *end || !(a->min_percent >= 0 && a->min_percent <= 100))
			message_usage(
				state,
				"cannot use --min-percent=%s: it must be a number from 0 to 100",
				arg);
		return 0;
	case OPT_NO_INLINE:
		a->inlining = false;
		return 0;
	case OPT_NO_KERNEL:
		a->no_kernel = true;
		return 0;
	case OPT_ABSOLUTE:
		a->absolute = true;
		return 0;
	case OPT_FULL_NAMES:
		a->full_names = true;
		return 0;
	case ARGP_KEY_ARG:
		if (a->n == 2)
			message_usage(state,
				      "cannot compare more than two recordings; join some of them "
				      "with pcce-merge");
		a->inputs[a->n++] = strcmp(arg, "-") ? arg : "/dev/stdin";
		return 0;
	case ARGP_KEY_END:
		if (a->n < 2)
			message_usage(state, "cannot compare: two recordings are needed; name the "
					     "earlier one and the later one");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_diff_formats(FILE *out)
{
	fputs("Formats:\n", out);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		fprintf(out, "  %-12s %s\n", formats[i].name, formats[i].what);
}

static char *filter_diff_help(int key, const char *text, void *input)
{
	(void)input;
	return help_list(key, text, print_diff_formats);
}

static const struct argp argp = {
	.options = options,
	.parser = parse_diff_option,
	.help_filter = filter_diff_help,
	.args_doc = "BEFORE NOW",
	.doc = "Show what changed from one recording to another, and how sure that is."
	       "\vThe first table compares times, which tells something if both runs did equal "
	       "work. "
	       "Shares are of each recording's own samples. Only sure changes are shown: at "
	       "most 5% of them are due to chance. This is the chance of sampling. To see how runs "
	       "of one program differ, record several runs and join them with pcce-merge.",
};

static int load_recording(const struct arguments *a, int i, struct profile **p)
{
	struct profile_options o = {.tree = true,
				    .samples = a->format->samples,
				    .inlining = a->inlining,
				    .no_kernel = a->no_kernel,
				    .select = &a->select};
	struct error why;

	if (profile_load(a->inputs[i], &o, p, &why)) {
		message("pcce-diff", "%s", why.text);
		return 1;
	}
	if (!(*p)->complete)
		message("pcce-diff",
			"warning: %s has no end record: the recording was cut off; "
			"comparing what it holds",
			a->inputs[i]);
	if (a->select.events.n && !(*p)->stats.samples) {
		message("pcce-diff",
			"cannot compare %s: it has no sample of the selected events; "
			"its events are %s",
			a->inputs[i], (*p)->events);
		profile_free(*p);
		return 1;
	}
	return 0;
}

static int cannot_write_diff(const struct arguments *a, const char *reason)
{
	message("pcce-diff", "cannot write %s: %s", a->output ? a->output : "standard output",
		reason);
	return 1;
}

/* Calls and samples do not add up. */
static void note_diff_events(const struct arguments *a, const struct profile *p)
{
	char shown[256], other[256];

	if (p->n_events > 1 && !p->calls && !a->select.events.n)
		message("pcce-diff", "comparing %s; use --event=NAME to compare another of %s",
			profile_event(p, 0, shown, sizeof(shown)), p->events);
	if (p->calls && !a->select.events.n)
		message("pcce-diff", "comparing %s; use --event=%s to compare the samples",
			profile_event(p, 0, shown, sizeof(shown)),
			profile_event(p, 1, other, sizeof(other)));
}

/* What --only left out of one of them may look like a difference. */
static void warn_about_only(const struct arguments *a, const struct profile *before,
			    const struct profile *now)
{
	const char *first = before->only.expression, *second = now->only.expression;

	if (strcmp(first ? first : "", second ? second : ""))
		message("pcce-diff",
			"warning: %s and %s were recorded with different expressions of --only: "
			"what one of them left out looks like a change",
			a->inputs[0], a->inputs[1]);
}

static int compare_recordings(const struct arguments *a, const struct profile *before,
			      const struct profile *now)
{
	struct diff_options o = {
		.max_q = a->all ? 1 : 0.05,
		.min_percent = a->min_percent,
		.max_rows = a->rows_given || a->format->print != diff_text ? a->max_rows : 20,
		.absolute = a->absolute,
		.names = {a->inputs[0], a->inputs[1]},
	};
	struct output_file file;
	struct error why;
	struct diff d;
	FILE *out;
	int r;

	if (strcmp(before->event, now->event)) {
		message("pcce-diff",
			"cannot compare %s with %s: the first counts %s, the second %s; "
			"record the same event, or select one with --event",
			a->inputs[0], a->inputs[1], before->event, now->event);
		return 1;
	}
	note_diff_events(a, before);
	warn_about_only(a, before, now);
	if (output_stream_open(&file, a->output, &out, &why))
		return cannot_write_diff(a, why.text);
	progress_phase("comparing");
	r = diff_new(before, now, a->by, &d);
	symbol_table_show_full(before->names, true);
	symbol_table_show_full(now->names, a->full_names || !a->format->short_names);
	progress_end();
	if (!r) {
		if (a->by == DIFF_BY_CALLS && *d.other)
			message("pcce-diff", "warning: %s: contexts whose calls moved differ",
				d.other);
		if (a->output || !isatty(STDOUT_FILENO))
			progress_phase("writing");
		r = a->format->print(&d, &o, out);
		progress_end();
		diff_free(&d);
	}
	r = output_stream_close(&file, out, r);
	return r ? cannot_write_diff(a, strerror(-r)) : 0;
}

int main(int argc, char **argv)
{
	struct arguments a = {.format = &formats[0], .inlining = true};
	struct profile *before, *now;
	int status = 1;

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	if (!a.output && a.format->binary && isatty(STDOUT_FILENO)) {
		message("pcce-diff",
			"cannot print format '%s' on a terminal: it is binary; name a "
			"file with -o",
			a.format->name);
		return 2;
	}
	progress_enable("pcce-diff");
	if (!load_recording(&a, 0, &before)) {
		if (!load_recording(&a, 1, &now)) {
			status = compare_recordings(&a, before, now);
			profile_free(now);
		}
		profile_free(before);
	}
	selection_free(&a.select);
	return status;
}
