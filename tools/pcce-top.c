/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shows what runs now: the command line of pcce-top. lib/top does the work. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/help_list.h"
#include "base/message.h"
#include "sampler/event_list.h"
#include "sampler/perf_event.h"
#include "tools/sample_options.h"
#include "top/top.h"

const char *argp_program_version = "pcce-top " PCCE_VERSION;

#define EVENT "cpu-clock"
#define FREQUENCY 99

enum { OPT_DELAY = 256, OPT_WINDOW, OPT_OFF_CPU, OPT_WALL, OPT_FORMAT };

static const struct argp_option options[] = {
	{"pid", 'p', "PID|NAME,...", 0,
	 "Show running processes, by number or by the name of their command, their threads and new "
	 "children; -p can be repeated",
	 0},
	{"all-cpus", 'a', 0, 0, "Show all processes: the default without -p", 0},
	{"frequency", 'F', "HZ", 0, "Take HZ samples per second and CPU (default: 99)", 0},
	{0, 'c', "N", 0, "Take a sample every N events, instead of -F (for the clocks: every N ns)",
	 0},
	{"event", 'e', "EVENT,...", 0,
	 "Sample on these events, as pcce-record does (default: cpu-clock)", 0},
	{"off-cpu", OPT_OFF_CPU, NULL, 0,
	 "Sample the time that threads wait or have no CPU: the same as -e off-cpu", 0},
	{"wall", OPT_WALL, NULL, 0,
	 "Sample all time of threads: the same as -e cpu-clock,off-cpu; v in the view chooses one",
	 0},
	{"delay", OPT_DELAY, "SECONDS", 0, "Refresh after this time (default: 2)", 0},
	{"window", OPT_WINDOW, "SECONDS", 0,
	 "Show the samples of this time up to now (default: 10; with --batch: what is new)", 0},
	{"batch", 'b', 0, 0, "Print text at each refresh, for pipes and files", 0},
	{"iterations", 'n', "N", 0, "End after N refreshes (--batch)", 0},
	{"format", OPT_FORMAT, "NAME", 0,
	 "Print in one of the formats below (default: flat) (--batch)", 0},
	{0},
};

static const char doc[] =
	"Show the hottest functions and calling contexts of what runs now.\v"
	"The view is that of pcce-report: 1, 2 and 3 choose callers, callees and functions, Enter "
	"opens a row, P pauses, ? lists all keys and q ends it. The first line has the rate, the "
	"CPU time that pcce-top itself uses, and the samples that were lost and taken.\n\n"
	"Needs root, or the capabilities that pcce-record -a needs. The exit status is 1 if it "
	"failed, and 64 if the command line is wrong.";

static struct sampler_system whole_system;
static struct event_list sampled_events;

struct arguments {
	struct top_options top;
	struct record_options record;
	uint64_t frequency, period;
};

static uint64_t top_time(struct argp_state *state, const char *option, const char *arg)
{
	char *end;
	double seconds = strtod(arg, &end);

	if (end == arg || *end || !(seconds >= 0.1 && seconds <= 3600))
		message_usage(state,
			      "cannot use --%s=%s: it must be a number of seconds from 0.1 to 3600",
			      option, arg);
	return (uint64_t)(seconds * 1e9);
}

/* Single samples, of which timelines are made, are not kept. */
static const char *const top_formats[] = {"flat",     "tree",	"callees", "threads",
					  "commands", "folded", "json",	   "jsonl"};

#define N_FORMATS (sizeof(top_formats) / sizeof(top_formats[0]))

static const struct format *top_format(struct argp_state *state, const char *arg)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (!strcmp(arg, top_formats[i]))
			return format_find(arg);
	message_usage(state,
		      "cannot use --format=%s: it must be flat, tree, callees, threads, commands, "
		      "folded, json or jsonl",
		      arg);
	return NULL;
}

/* Refuses options that contradict each other, and chooses defaults. */
static void finish_top(struct argp_state *state, struct arguments *a)
{
	struct record_options *o = &a->record;
	struct error why;

	if (o->system && o->n_targets)
		message_usage(state, "cannot use -p with -a: leave out one of them");
	if (a->frequency && a->period)
		message_usage(state, "cannot use -F with -c: leave out one of them");
	if (!a->top.batch && (a->top.turns || a->top.format))
		message_usage(state, "cannot use -%s without --batch; add --batch",
			      a->top.turns ? "n" : "-format");
	if (!a->top.batch && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		message_usage(state, "cannot show the view: standard input or output is not a "
				     "terminal; use --batch for text");
	if (!o->n_targets)
		o->system = &whole_system;
	if (!sampled_events.n && event_list_add(&sampled_events, EVENT, &why))
		message_usage(state, "%s", why.text);
	if (!a->top.format)
		a->top.format = format_find("flat");
	if (!a->top.window && !a->top.batch)
		a->top.window = 10000000000;
}

static void print_top_lists(FILE *out)
{
	fputs("Formats:\n", out);
	for (size_t i = 0; i < N_FORMATS; i++)
		fprintf(out, "  %-8s  %s\n", top_formats[i], format_find(top_formats[i])->what);
}

static char *filter_top_help(int key, const char *text, void *input)
{
	(void)input;
	return help_list(key, text, print_top_lists);
}

static error_t parse_top_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	struct error why;

	switch (key) {
	case 'p':
		sample_option_target(state, &a->record, arg);
		break;
	case 'a':
		a->record.system = &whole_system;
		break;
	case 'F':
		a->frequency = sample_option_number(state, "frequency", arg, EVENT_FREQUENCY_MAX);
		break;
	case 'c':
		a->period = sample_option_number(state, "count", arg, EVENT_PERIOD_MAX);
		break;
	case OPT_OFF_CPU:
	case OPT_WALL:
		arg = key == OPT_WALL ? "cpu-clock,off-cpu" : "off-cpu";
		/* fallthrough */
	case 'e':
		if (event_list_add(&sampled_events, arg, &why))
			message_usage(state, "%s", why.text);
		break;
	case OPT_DELAY:
		a->top.delay = top_time(state, "delay", arg);
		break;
	case OPT_WINDOW:
		a->top.window = top_time(state, "window", arg);
		break;
	case 'b':
		a->top.batch = true;
		break;
	case 'n':
		a->top.turns = sample_option_number(state, "iterations", arg, 1000000000);
		break;
	case OPT_FORMAT:
		a->top.format = top_format(state, arg);
		break;
	case ARGP_KEY_ARG:
		message_usage(
			state,
			"cannot run '%s': pcce-top shows what runs already; start it, and use "
			"-p",
			arg);
		break;
	case ARGP_KEY_END:
		finish_top(state, a);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {options, parse_top_option, NULL, doc,
					 NULL,	  filter_top_help,  NULL};
	struct arguments a = {
		.top = {.delay = 2000000000},
		.record = {.sampler = "auto", .output = "-", .choose_frames = true, .quiet = true},
	};

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 1;
	event_list_set_rates(&sampled_events, a.frequency || a.period ? a.frequency : FREQUENCY,
			     a.period);
	a.record.events = sampled_events.of;
	a.record.n_events = sampled_events.n;
	for (uint32_t i = 0; i < a.record.n_events; i++)
		a.record.waits |= perf_event_is_waits(a.record.events[i].name);
	return top_run(&a.top, &a.record);
}
