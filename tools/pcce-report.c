/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reports a recording: the main function of pcce-report.  report_options.c reads the command line,
 * lib/profile reads, decodes and selects samples, lib/format prints, lib/view is interactive.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/message.h"
#include "base/neighbour.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "base/temp_file.h"
#include "base/text.h"
#include "hot/parameters.h"
#include "tools/report_options.h"
#include "view/view.h"

const char *argp_program_version = "pcce-report " PCCE_VERSION;

static void warn_about(const struct profile *p, const char *input)
{
	const struct profile_stats *s = &p->stats;
	uint64_t few = s->lost_reasons[PCCE_LOSS_UNEXPLAINED] + s->lost_reasons[PCCE_LOSS_LATE] +
		       s->lost_reasons[PCCE_LOSS_BLOCKED];

	if (!p->complete)
		message("pcce-report",
			"warning: %s has no end record: the recording was cut off; "
			"showing "
			"what it holds",
			input);
	if (p->unknown)
		message("pcce-report",
			"warning: %s holds %llu records of a later version; they are "
			"left "
			"out",
			input, (unsigned long long)p->unknown);
	if (s->lost > few || few > s->due.due / 100)
		message("pcce-report", "warning: %llu samples were lost while recording",
			(unsigned long long)s->lost);
	if (s->undecodable)
		message("pcce-report",
			"warning: the contexts of %llu of %llu samples are unknown; --stats tells "
			"why",
			(unsigned long long)s->undecodable, (unsigned long long)s->samples);
}

/* Says that one sample, whose weight differs from that of others, decides much of the report. A
 * sample of a clock can represent two ticks. */
static void warn_of_weight(const struct profile *p)
{
	const struct profile_stats *s = &p->stats;
	bool clock = format_unit(p).clock;
	const char *why = clock ? "it represents others, which the program or the machine held back"
				: "the kernel guessed how many events it represents; record with "
				  "-c 1, which counts each";
	char event[256];

	/* A wait is one sample, however long it is, and so is an allocation. Several events do not
	 * add up. */
	if (!p->calls && !strchr(p->event, ',') && !format_unit(p).bytes &&
	    !strstr(p->event, "off-cpu") && !strstr(p->event, "lock:holder") &&
	    strcmp(p->event, "lock") != 0 && s->heaviest > s->weight / 20 &&
	    s->heaviest > (clock ? 2 : 1) * s->weight / s->samples)
		message("pcce-report", "warning: one sample of %s has %.1f%% of the weight: %s",
			text_clean(p->event, event, sizeof(event)),
			text_percent(s->heaviest, s->weight), why);
}

/* Says how much was still live when the processes ended. */
static void note_leaks(const struct report_options *o, const struct profile *p)
{
	const uint32_t live = 1; /* the event */
	const struct profile_event e = profile_event_facts(p, live);
	char name[256], bytes[32];

	if (o->select.events.n || p->n_events <= live || !p->all_samples ||
	    strcmp(profile_event(p, live, name, sizeof(name)), "malloc:live") != 0)
		return;
	text_bytes(bytes, sizeof(bytes), e.weight);
	if (p->period > 1)
		message("pcce-report", "about %s were still live at the end; use --event=%s", bytes,
			name);
	else
		message("pcce-report",
			"%s in %llu allocations were still live at the end; use --event=%s", bytes,
			(unsigned long long)e.samples, name);
}

/* Calls and samples do not add up. */
static void note_events(const struct report_options *o, const struct profile *p)
{
	char shown[256], other[256];

	if (p->calls && !o->select.events.n && !p->cost.event)
		message("pcce-report", "showing %s; use --event=%s to see the samples",
			profile_event(p, 0, shown, sizeof(shown)),
			profile_event(p, 1, other, sizeof(other)));
}

static bool use_colors(const struct report_options *o)
{
	const char *no = getenv("NO_COLOR");

	if (o->colors >= 0)
		return o->colors;
	return !o->output && isatty(STDOUT_FILENO) && !(no && *no);
}

static int print_profile(const struct report_options *o, const struct profile *p, FILE *out)
{
	const struct format *format = o->format ? o->format : &formats[0];
	struct format_options print = o->print;
	int r;

	if (print.min_percent < 0)
		print.min_percent = p->hot.phi > 0 ? 0 : format->min_percent;
	print.colors = use_colors(o);
	print.quiet = o->quiet;
	symbol_table_show_full(p->names, o->full_names || !format->short_names);
	if (!o->stats)
		return format->print(p, &print, out);
	r = format_stats(p, out);
	if (!r && o->verbose)
		profile_print_failures(p, out, 10);
	return r;
}

static int cannot_write_report(const struct report_options *o, const char *reason)
{
	message("pcce-report", "cannot write %s: %s", o->output ? o->output : "standard output",
		reason);
	return REPORT_FAILED;
}

/* Prints to o->output. Returns the exit status. */
static int print_to_output(const struct report_options *o, const struct profile *p)
{
	struct output_file file;
	struct error why;
	FILE *out;
	int r;

	if (output_stream_open(&file, o->output, &out, &why))
		return cannot_write_report(o, why.text);
	/* Progress must not mix with the report on one terminal. */
	if (o->output || !isatty(STDOUT_FILENO))
		progress_phase("writing");
	r = print_profile(o, p, out);
	progress_end();
	r = output_stream_close(&file, out, r);
	return r ? cannot_write_report(o, strerror(-r)) : 0;
}

/* Chooses text or the interactive view, which needs a person at a terminal. */
static enum report_where choose_where(const struct report_options *o)
{
	const char *term = getenv("TERM");

	if (o->where != REPORT_AUTO)
		return o->where;
	if (o->format || o->stats || o->output || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return REPORT_TEXT;
	return term && *term && strcmp(term, "dumb") ? REPORT_VIEW : REPORT_TEXT;
}

/* Returns false if the terminal cannot show the view and text is allowed. */
static bool show_view(const struct report_options *o, struct profile *p, int *status)
{
	const char *term = getenv("TERM");
	struct view_options options = {
		.input = o->input,
		.select = &o->select,
		.print = o->print,
		.source = o->source,
		.colors = use_colors(o),
		.full_names = o->full_names,
	};
	int r = view_run(p, &options);

	if (r == -ENOTTY && o->where == REPORT_AUTO)
		return false;
	if (r == -ENOTTY)
		message("pcce-report",
			"cannot show the view: no suitable terminal (TERM=%s); "
			"use --stdio for text",
			term ? term : "");
	else if (r)
		message("pcce-report", "cannot show %s: %s", o->input, strerror(-r));
	*status = r ? REPORT_FAILED : 0;
	return true;
}

/* Tells that no sample is selected, and what the recording has to select. */
static void say_nothing_selected(const struct report_options *o, const struct profile *p)
{
	const struct selection *s = &o->select;
	const char *between = ": ";
	char hints[512] = "";
	FILE *f = fmemopen(hints, sizeof(hints), "w");

	if (f && s->times.n) {
		fprintf(f, "%sit is %.5g s long", between, (double)(p->last - p->first) / 1e9);
		between = ", ";
	}
	if (f && (s->comms.n || s->pids.n || s->commands.n || s->tids.n)) {
		fprintf(f, "%s--format=threads lists its threads", between);
		between = ", ";
	}
	if (f && s->events.n) {
		fprintf(f, "%sit is of %.100s", between, p->events);
		between = ", ";
	}
	if (f && selection_has_contexts(s))
		fprintf(f, "%s--format=flat lists its functions", between);
	if (f)
		fclose(f);
	message("pcce-report", "none of the %llu samples in %s is selected%s",
		(unsigned long long)p->all_samples, o->input, hints);
}

/* Prints the report and its warnings. Returns the exit status. */
static int print_report(const struct report_options *o, const struct profile *p)
{
	int status;

	if (!o->stats && !o->quiet) {
		warn_about(p, o->input);
		warn_of_weight(p);
		note_events(o, p);
		note_leaks(o, p);
	}
	status = print_to_output(o, p);
	if (status || p->stats.samples)
		return status;
	if (!o->quiet && !p->complete && !strncmp(p->event, "calls", 5))
		message("pcce-report",
			"%s contains no calls: pcce-record writes them when it ends, and was "
			"ended before",
			o->input);
	else if (!o->quiet && !p->all_samples && strchr(p->event, ':') && format_unit(p).bytes)
		message("pcce-report", "%s contains no samples of %s", o->input, p->event);
	else if (!o->quiet && !p->all_samples)
		message("pcce-report",
			"%s contains no samples: the program was too short, or could "
			"not be sampled%s; %srun pcce-check on the program",
			o->input, p->only.left_out ? ", or nothing matched --only" : "",
			p->calls || !p->frequency ? "" : "use a higher -F, or ");
	else if (!o->quiet)
		say_nothing_selected(o, p);
	return REPORT_NOTHING;
}

/* A summary lacks contexts of up to its offset, so it cannot answer for a smaller phi. */
static bool can_find_hot(const struct report_options *o, const struct profile *p)
{
	const struct recording_hot *s = &p->summary;

	if (!(s->phi > 0 && p->hot.phi > 0) || hot_threshold(p->hot.phi, s->weight) > s->offset ||
	    !s->offset)
		return true;
	message("pcce-report",
		"cannot use --hot=%g: %s was recorded with --hot=%g,%g and lacks contexts of up to "
		"%.3g of all samples; use a larger PHI",
		p->hot.phi, o->input, s->phi, s->epsilon, (double)s->offset / (double)s->weight);
	return false;
}

/* Has pcce-pull write what a store has into a temporary file. Only that command needs what talks to
 * databases. */
static int pull_recording(const struct report_options *o, struct temp_file *to)
{
	const struct store_options *s = &o->store;
	const struct {
		const char *option, *value;
	} given[] = {{"--from", s->from},
		     {"--since", s->since},
		     {"--until", s->until},
		     {"--where", s->where}};
	char *argv[16] = {program_invocation_short_name, (char *)"-o"};
	int n = 2, r;

	r = temp_file_create(to);
	if (r) {
		message("pcce-report", "cannot create a temporary file: %s", strerror(-r));
		return r;
	}
	argv[n++] = to->own;
	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++) {
		if (!given[i].value)
			continue;
		argv[n++] = (char *)given[i].option;
		argv[n++] = (char *)given[i].value;
	}
	r = neighbour_run("pcce-pull", argv);
	if (r)
		temp_file_close(to);
	return r;
}

static int report_recording(const struct report_options *o)
{
	const struct format *format = o->format ? o->format : &formats[0];
	enum report_where where = choose_where(o);
	struct profile_options load = {
		.tree = !o->stats || selection_has_contexts(&o->select),
		.inlining = o->inlining,
		.no_kernel = o->no_kernel,
		.origins = o->origins,
		.by_label = o->by_label,
		.holders = o->holders && format->print != format_locks,
		.samples = !o->stats && format->samples,
		.all_events = where == REPORT_TEXT && !o->stats && format->all_events,
		.all_time = where == REPORT_TEXT && !o->stats && format->all_time,
		.cost = where == REPORT_TEXT && !o->stats && format->costs,
		.lines = where == REPORT_VIEW || o->select.by == SELECT_BY_LINE ||
			 o->select.by == SELECT_BY_FILE || o->print.source,
		.again = where == REPORT_VIEW || o->print.source,
		.names = o->names,
		.select = &o->select,
	};
	struct temp_file pulled = {.path = o->input, .fd = -1};
	struct profile *p;
	struct error why;
	int status;

	if (where == REPORT_TEXT && !o->stats && !o->output && format->binary &&
	    isatty(STDOUT_FILENO)) {
		message("pcce-report",
			"cannot print format '%s' on a terminal: it is binary; name a "
			"file with -o",
			format->name);
		return REPORT_USAGE;
	}
	if (!o->quiet)
		progress_enable("pcce-report");
	if (o->store.from && pull_recording(o, &pulled))
		return REPORT_FAILED;
	if (profile_load(pulled.path, &load, &p, &why)) {
		message("pcce-report", "%s", why.text);
		temp_file_close(&pulled);
		return REPORT_FAILED;
	}
	if (!can_find_hot(o, p))
		status = REPORT_USAGE;
	else if (where != REPORT_VIEW || !show_view(o, p, &status))
		status = print_report(o, p);
	profile_free(p);
	temp_file_close(&pulled);
	return status;
}

int main(int argc, char **argv)
{
	struct report_options o;
	int status;

	report_options_parse(argc, argv, &o);
	status = report_recording(&o);
	report_options_free(&o);
	return status;
}
