/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Reads the command line of pcce-report with argp; see report_options.h. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/help_list.h"
#include "base/message.h"
#include "hot/parameters.h"
#include "tree/suffix_tree.h"
#include "tools/report_options.h"

enum {
	OPT_FORMAT = 256,
	OPT_STATS,
	OPT_STDIO,
	OPT_TUI,
	OPT_COLOR,
	OPT_SOURCE,
	OPT_WITH_SOURCE,
	OPT_COMM,
	OPT_PID,
	OPT_TID,
	OPT_EVENT,
	OPT_TIME,
	OPT_LABEL,
	OPT_UNDER,
	OPT_FOCUS,
	OPT_IGNORE,
	OPT_BY,
	OPT_CALL_SITES,
	OPT_RECURSION,
	OPT_SUFFIX,
	OPT_HOT,
	OPT_HOT_BY,
	OPT_ORIGINS,
	OPT_NO_INLINE,
	OPT_NO_KERNEL,
	OPT_HOLDERS,
	OPT_DEMANGLE,
	OPT_NO_DEMANGLE,
	OPT_FULL_NAMES,
	OPT_MIN_PERCENT,
	OPT_MAX_DEPTH,
	OPT_MAX_ROWS,
	OPT_SORT,
};

static const struct argp_option options[] = {
	{"input", 'i', "FILE", 0, "Read FILE (default: pcce.data; -: standard input)", 1},
	{"output", 'o', "FILE", 0, "Write to FILE (default, and -: standard output)", 1},
	{"format", OPT_FORMAT, "FORMAT", 0, "Print in this format, see below (default: tree)", 1},
	{"stats", OPT_STATS, NULL, 0,
	 "Print numbers about the recording instead, one `name: value' per line", 1},
	{"verbose", 'v', NULL, 0,
	 "With --stats, also print the first ten samples that do not decode or that differ from "
	 "the real stack",
	 1},
	{"quiet", 'q', NULL, 0, "Print neither warnings nor progress", 1},
	{"stdio", OPT_STDIO, NULL, 0, "Print text even on a terminal", 1},
	{"tui", OPT_TUI, NULL, 0, "Open the interactive view, or fail", 1},
	{"source", OPT_SOURCE, "DIR", 0,
	 "Also search DIR for source files (interactive view, --with-source); can be given several "
	 "times",
	 1},
	{"with-source", OPT_WITH_SOURCE, NULL, 0,
	 "Put the source files into the page, with the cost of each line (--format=html)", 1},
	{"color", OPT_COLOR, "WHEN", OPTION_ARG_OPTIONAL,
	 "Use colours always, never, or auto: on a terminal unless NO_COLOR is set (default)", 1},

	{NULL, 0, NULL, 0, "Select samples (each option can be given several times):", 2},
	{"comm", OPT_COMM, "NAME,...", 0, "Select threads by name; patterns: * ? []", 2},
	{"pid", OPT_PID, "PID|NAME,...", 0,
	 "Select processes by number, or by the name of their command; patterns: * ? []", 2},
	{"tid", OPT_TID, "TID,...", 0, "Select threads by number", 2},
	{"event", OPT_EVENT, "EVENT,...", 0, "Select events by name, or by number from 0", 2},
	{"time", OPT_TIME, "FROM,TO", 0,
	 "Select a part of the recording: seconds after the first sample, numbers with a unit, or "
	 "percentages; FROM or TO can be omitted",
	 2},

	{"label", OPT_LABEL, "KEY=VALUE", 0,
	 "Select samples of threads that had this label, or with KEY!=VALUE all others; patterns: "
	 "* "
	 "? []; of several options, all must fit",
	 2},

	{NULL, 0, NULL, 0, "Select contexts:", 3},
	{"under", OPT_UNDER, "FUNCTION,...", 0,
	 "Select what these functions did and called; trees begin with them; patterns: * ? []", 3},
	{"focus", OPT_FOCUS, "REGEX", 0, "Select contexts with a function that matches", 3},
	{"ignore", OPT_IGNORE, "REGEX", 0, "Select contexts without a function that matches", 3},

	{NULL, 0, NULL, 0, "Choose the detail:", 4},
	{"by", OPT_BY, "WHAT", 0,
	 "Make a frame for each function (default), line, file or module; with label:KEY, begin "
	 "contexts with a frame for the value of this label",
	 4},
	{"call-sites", OPT_CALL_SITES, "HOW", 0,
	 "Distinguish calls of a function by address (default; some formats then show lines), by "
	 "line, or not at all (none)",
	 4},
	{"recursion", OPT_RECURSION, "HOW", 0,
	 "Show recursion as it is (keep, default), with the frames of a function that calls itself "
	 "joined (direct), or also without what lies between two frames of one function (all)",
	 4},
	{"suffix", OPT_SUFFIX, "K", 0, "Show only the innermost K frames of contexts (1 to 1000)",
	 4},
	{"hot", OPT_HOT, "PHI", OPTION_ARG_OPTIONAL,
	 "Show only hot contexts, which have a share of at least PHI (default: 0.0001), and their "
	 "callers; dot then draws this tree",
	 4},
	{"hot-by", OPT_HOT_BY, "SHARE", 0,
	 "With --hot, compare the self share of a context (default), or its total share", 4},
	{"origins", OPT_ORIGINS, NULL, 0,
	 "Continue contexts of a thread below its creation context, after a frame [thread]", 4},
	{"holders", OPT_HOLDERS, NULL, 0,
	 "Continue contexts of waits for locks with those that ended them, after a frame [ended "
	 "by], "
	 "and those of lock:holder the other way round",
	 4},
	{"no-inline", OPT_NO_INLINE, NULL, 0, "Show no frames for inlined functions", 4},
	{"no-kernel", OPT_NO_KERNEL, NULL, 0, "Show no frames for the kernel's functions", 4},
	{"demangle", OPT_DEMANGLE, "HOW", 0,
	 "Read C++ names in full (default), simple (without parameters) or as they are (none)", 4},
	{"no-demangle", OPT_NO_DEMANGLE, NULL, 0, "Same as --demangle=none", 4},
	{"full-names", OPT_FULL_NAMES, NULL, 0,
	 "Do not shorten C++ names (in tree, callees, flat, threads, html, dot and the view)", 4},
	{"min-percent", OPT_MIN_PERCENT, "P", 0,
	 "Leave out what is less than P percent of all (default: 0.5 for tree, callees and dot, "
	 "otherwise 0; folded prints all)",
	 4},
	{"max-depth", OPT_MAX_DEPTH, "N", 0,
	 "Leave out what is deeper than N frames (tree, callees, json, html, trace)", 4},
	{"max-rows", OPT_MAX_ROWS, "N", 0,
	 "Write at most N stacks (perf-script, default 1000000), spans (trace, 1000000) or frames "
	 "of samples in order of time (speedscope, 5000000); 0: all",
	 4},
	{"sort", OPT_SORT, "KEY,...", 0,
	 "Sort rows and siblings by self, total, samples, name, module or line (tree, callees, "
	 "flat)",
	 4},
	{0},
};

static const char *const by_words[] = {"function", "line", "file", "module", "label:KEY", NULL};
static const char *const call_words[] = {"address", "line", "none", NULL};
static const char *const recursion_words[] = {"keep", "direct", "all", NULL};
static const char *const hot_words[] = {"self", "total", NULL};
static const char *const demangle_words[] = {"full", "simple", "none", NULL};
static const char *const color_words[] = {"never", "always", "auto", NULL};
static const char *const sort_words[] = {
	[CCT_SORT_TOTAL] = "total", [CCT_SORT_SELF] = "self",	  [CCT_SORT_SAMPLES] = "samples",
	[CCT_SORT_NAME] = "name",   [CCT_SORT_MODULE] = "module", [CCT_SORT_LINE] = "line",
	[CCT_SORT_KEYS] = NULL,
};

/* Returns the index of a word that an option takes; any other word is an error of usage. */
static int choose_word(struct argp_state *state, const char *option, const char *arg, size_t length,
		       const char *const *words)
{
	char list[256];
	size_t at = 0;

	for (int i = 0; words[i]; i++) {
		if (strlen(words[i]) == length && !strncmp(words[i], arg, length))
			return i;
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s",
				       i ? words[i + 1] ? ", " : " or " : "", words[i]);
	}
	message_usage(state, "cannot use --%s=%.*s: it must be %s", option, (int)length, arg, list);
	return 0;
}

static int choose_whole_word(struct argp_state *state, const char *option, const char *arg,
			     const char *const *words)
{
	return choose_word(state, option, arg, strlen(arg), words);
}

static void parse_sort(struct argp_state *state, const char *arg, struct cct_sort_order *to)
{
	to->n = 0;
	for (;;) {
		size_t length = strcspn(arg, ",");
		enum cct_sort_key key = choose_word(state, "sort", arg, length, sort_words);
		size_t i;

		for (i = 0; i < to->n && to->keys[i] != key; i++)
			;
		if (i == to->n)
			to->keys[to->n++] = key;
		if (!arg[length])
			return;
		arg += length + 1;
	}
}

static error_t parse_hot(struct argp_state *state, const char *arg, struct selection *s)
{
	struct hot_parameters p = {.phi = HOT_PHI};
	struct error why;

	if (arg && hot_parameters_parse(arg, &p, &why))
		message_usage(state, "cannot use --hot: %s", why.text);
	else if (arg && strchr(arg, ','))
		message_usage(
			state,
			"cannot use --hot=%s: the recording decides about EPSILON; leave it out",
			arg);
	s->hot = p.phi;
	s->hot_default = !arg;
	return 0;
}

static unsigned int parse_suffix(struct argp_state *state, const char *arg)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' || !n || n > SUFFIX_TREE_MOST)
		message_usage(state, "cannot use --suffix=%s: it must be a number from 1 to %d",
			      arg, SUFFIX_TREE_MOST);
	return n;
}

static error_t parse_selection_option(int key, char *arg, struct argp_state *state)
{
	struct report_options *o = state->input;
	struct selection *s = &o->select;
	struct error why = {0};

	switch (key) {
	case OPT_COMM:
		return message_option(state, "comm", select_add_words(&s->comms, arg, &why),
				      why.text);
	case OPT_PID:
		return message_option(state, "pid", select_add_processes(s, arg, &why), why.text);
	case OPT_TID:
		return message_option(state, "tid", select_add_numbers(&s->tids, arg, &why),
				      why.text);
	case OPT_EVENT:
		return message_option(state, "event", select_add_words(&s->events, arg, &why),
				      why.text);
	case OPT_TIME:
		return message_option(state, "time", select_add_range(&s->times, arg, &why),
				      why.text);
	case OPT_LABEL:
		return message_option(state, "label", select_add_label(&s->labels, arg, &why),
				      why.text);
	case OPT_UNDER:
		return message_option(state, "under", select_add_words(&s->under, arg, &why),
				      why.text);
	case OPT_FOCUS:
		return message_option(state, "focus", select_add_pattern(&s->focus, arg, &why),
				      why.text);
	case OPT_IGNORE:
		return message_option(state, "ignore", select_add_pattern(&s->ignore, arg, &why),
				      why.text);
	case OPT_BY:
		if (!strncmp(arg, "label:", 6) && arg[6])
			o->by_label = arg + 6;
		else
			s->by = choose_whole_word(state, "by", arg, by_words);
		return 0;
	case OPT_CALL_SITES:
		s->calls = choose_whole_word(state, "call-sites", arg, call_words);
		return 0;
	case OPT_HOT:
		return parse_hot(state, arg, s);
	case OPT_HOT_BY:
		s->hot_by_total = choose_whole_word(state, "hot-by", arg, hot_words);
		o->hot_by_given = true;
		return 0;
	case OPT_SUFFIX:
		s->suffix = parse_suffix(state, arg);
		return 0;
	case OPT_RECURSION:
		s->recursion = choose_whole_word(state, "recursion", arg, recursion_words);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void parse_min_percent(struct argp_state *state, const char *arg, double *to)
{
	char *end;

	errno = 0;
	*to = strtod(arg, &end);
	if (errno || end == arg || *end || !(*to >= 0 && *to <= 100))
		message_usage(state,
			      "cannot use --min-percent=%s: it must be a number from 0 to 100",
			      arg);
}

static uint64_t parse_count(struct argp_state *state, const char *option, const char *arg,
			    uint64_t least)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' || n < least || n > UINT32_MAX / 2)
		message_usage(state, "cannot use --%s=%s: it must be a number%s", option, arg,
			      least ? " of frames" : "");
	return n;
}

static error_t add_source_dir(struct argp_state *state, const char *arg,
			      struct source_file_dirs *to)
{
	if (array_grow(&to->list, to->n, sizeof(*to->list))) {
		argp_failure(state, REPORT_FAILED, ENOMEM, "cannot use --source");
		return ENOMEM;
	}
	to->list[to->n++] = arg;
	return 0;
}

static error_t parse_report_option(int key, char *arg, struct argp_state *state)
{
	struct report_options *o = state->input;
	char names[512];

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->store;
		return 0;
	case 'i':
		if (o->input)
			message_usage(state, "cannot show more than one recording; join them with "
					     "pcce-merge");
		o->input = strcmp(arg, "-") ? arg : "/dev/stdin";
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case 'v':
		o->verbose++;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case OPT_FORMAT:
		o->format = format_find(arg);
		if (!o->format)
			message_usage(state,
				      "cannot print format '%s': there is no such format; use %s",
				      arg, format_names(names, sizeof(names)));
		return 0;
	case OPT_STATS:
		o->stats = true;
		return 0;
	case OPT_STDIO:
		o->where = REPORT_TEXT;
		return 0;
	case OPT_TUI:
		o->where = REPORT_VIEW;
		return 0;
	case OPT_COLOR:
		o->colors = arg ? choose_whole_word(state, "color", arg, color_words) : 1;
		if (o->colors == 2)
			o->colors = -1;
		return 0;
	case OPT_SOURCE:
		return add_source_dir(state, arg, &o->source);
	case OPT_WITH_SOURCE:
		o->print.source = &o->source;
		return 0;
	case OPT_ORIGINS:
		o->origins = true;
		return 0;
	case OPT_NO_INLINE:
		o->inlining = false;
		return 0;
	case OPT_HOLDERS:
		o->holders = true;
		return 0;
	case OPT_NO_KERNEL:
		o->no_kernel = true;
		return 0;
	case OPT_FULL_NAMES:
		o->full_names = true;
		return 0;
	case OPT_DEMANGLE:
		o->names = choose_whole_word(state, "demangle", arg, demangle_words);
		o->full_names = true;
		return 0;
	case OPT_NO_DEMANGLE:
		o->names = SYMBOL_NAMES_RAW;
		return 0;
	case OPT_MIN_PERCENT:
		parse_min_percent(state, arg, &o->print.min_percent);
		return 0;
	case OPT_MAX_DEPTH:
		o->print.max_depth = parse_count(state, "max-depth", arg, 1);
		return 0;
	case OPT_MAX_ROWS:
		o->print.max_rows = parse_count(state, "max-rows", arg, 0);
		return 0;
	case OPT_SORT:
		parse_sort(state, arg, &o->print.sort);
		return 0;
	case ARGP_KEY_ARG:
		message_usage(
			state,
			"cannot use the argument '%s': pcce-report takes options only; name the "
			"recording with -i",
			arg);
		return EINVAL;
	case ARGP_KEY_END:
		if (o->hot_by_given && !(o->select.hot > 0))
			message_usage(state, "cannot use --hot-by without --hot");
		if (o->print.source && (!o->format || !o->format->source))
			message_usage(state, "cannot use --with-source without --format=html");
		if (o->store.from && o->input)
			message_usage(state, "cannot use -i with --from: both say what to read");
		if (!o->input)
			o->input = o->store.from ? o->store.from : "pcce.data";
		if (o->where == REPORT_VIEW && (o->format || o->stats || o->output))
			message_usage(state, "cannot use --tui with --format, --stats or --output; "
					     "leave out --tui");
		if (o->output && !strcmp(o->output, "-")) {
			o->output = NULL;
			o->where = REPORT_TEXT;
		}
		return 0;
	default:
		return parse_selection_option(key, arg, state);
	}
}

static void print_report_formats(FILE *out)
{
	fputs("Formats:\n", out);
	for (const struct format *format = formats; format->name; format++)
		fprintf(out, "  %-12s %s\n", format->name, format->what);
}

static char *filter_report_help(int key, const char *text, void *input)
{
	(void)input;
	return help_list(key, text, print_report_formats);
}

static const struct argp_child children[] = {{&store_argp, 0, "Recordings of a store:", 5}, {0}};

static const struct argp argp = {
	.options = options,
	.parser = parse_report_option,
	.children = children,
	.doc = "Show a recording of pcce-record: the calling contexts that took the time."
	       "\vPercentages are of all samples that are selected. A frame marked `× N' is "
	       "recursion: it occurs N times in a row. The exit status is 0, 1 if something "
	       "failed, "
	       "2 if the command line is wrong, and 3 if no sample is selected.",
	.help_filter = filter_report_help,
};

void report_options_parse(int argc, char **argv, struct report_options *o)
{
	*o = (struct report_options){
		.inlining = true,
		.print.min_percent = -1,
		.print.max_rows = FORMAT_ROWS,
		.colors = -1,
	};
	argp_err_exit_status = REPORT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, o))
		exit(REPORT_USAGE);
}

void report_options_free(struct report_options *o)
{
	selection_free(&o->select);
	free(o->source.list);
}
