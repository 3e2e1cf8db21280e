/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * pcce-report: what a recording says.  The work is done in tools/lib: profile.c
 * reads and decodes, format_*.c print.
 */
#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "tools/lib/format.h"
#include "tools/lib/profile.h"

const char *argp_program_version = "pcce-report " PCCE_VERSION;

enum {
	OPT_FORMAT = 256,
	OPT_STATS,
	OPT_NO_INLINE,
	OPT_MIN_PERCENT,
	OPT_MAX_DEPTH,
};

static const struct format {
	const char *name;
	int (*print)(const struct profile *p, const struct format_options *o, FILE *out);
	double min_percent; /* unless told otherwise */
} formats[] = {
	{"tree", format_tree, 0.5}, {"flat", format_flat, 0.0},	 {"folded", format_folded, 0.0},
	{"json", format_json, 0.0}, {"html", format_html, 0.0},
};

struct arguments {
	const char *input, *output;
	const struct format *format;
	bool stats, inlining;
	unsigned int verbose;
	double min_percent; /* below 0: the format's own */
	unsigned int max_depth;
};

static const struct argp_option options[] = {
	{"input", 'i', "FILE", 0, "Read this recording (default: pcce.data; - is standard input)", 0},
	{"output", 'o', "FILE", 0, "Write to this file (default: standard output)", 0},
	{"format", OPT_FORMAT, "FORMAT", 0,
	 "tree: readable calling context tree (default); flat: functions; folded: one line a context, for flame graph "
	 "tools; json: everything, for programs; html: a flame graph in one page",
	 0},
	{"stats", OPT_STATS, NULL, 0, "Print numbers about the recording instead, one `name: value' a line", 0},
	{"verbose", 'v', NULL, 0,
	 "With --stats: also the first ten samples that do not decode or that differ from the real stack, in full", 0},
	{"no-inline", OPT_NO_INLINE, NULL, 0, "No frames for functions that the compiler inlined", 0},
	{"min-percent", OPT_MIN_PERCENT, "P", 0,
	 "Leave out what is less than P percent of all (default: 0.5 for tree, else 0; folded prints "
	 "all)",
	 0},
	{"max-depth", OPT_MAX_DEPTH, "N", 0, "Leave out what is deeper than N frames (tree, json, html)", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	char *end;

	switch (key) {
	case 'i':
		a->input = strcmp(arg, "-") ? arg : "/dev/stdin";
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case 'v':
		a->verbose++;
		return 0;
	case OPT_FORMAT:
		for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
			if (!strcmp(arg, formats[i].name)) {
				a->format = &formats[i];
				return 0;
			}
		}
		argp_error(state, "unknown format '%s': use tree, flat, folded, json or html", arg);
		return EINVAL;
	case OPT_STATS:
		a->stats = true;
		return 0;
	case OPT_NO_INLINE:
		a->inlining = false;
		return 0;
	case OPT_MIN_PERCENT:
		errno = 0;
		a->min_percent = strtod(arg, &end);
		if (errno || end == arg || *end || !(a->min_percent >= 0 && a->min_percent <= 100))
			argp_error(state, "--min-percent wants a number from 0 to 100, not '%s'", arg);
		return 0;
	case OPT_MAX_DEPTH: {
		unsigned long n;

		errno = 0;
		n = strtoul(arg, &end, 10);
		if (errno || end == arg || *end || *arg == '-' || !n || n > UINT32_MAX / 2)
			argp_error(state, "--max-depth wants a number of frames, not '%s'", arg);
		a->max_depth = n;
		return 0;
	}
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s'; name the recording with -i", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Print a recording of pcce-record: which chains of calls the time went to."
	       "\vPercentages are of all samples. A frame marked `× N' is recursion: it stands N times in a row.",
};

static void warn_about(const struct profile *p, const char *input)
{
	const struct profile_stats *s = &p->stats;

	if (!p->complete)
		fprintf(stderr,
			"pcce-report: %s has no end record: the recording was cut off, and what it holds up to there "
			"is shown\n",
			input);
	if (p->unknown)
		fprintf(stderr,
			"pcce-report: %s holds %llu records of a kind that this version does not know; they are left "
			"out\n",
			input, (unsigned long long)p->unknown);
	if (s->lost)
		fprintf(stderr, "pcce-report: %llu samples were lost while recording\n", (unsigned long long)s->lost);
	if (s->undecodable)
		fprintf(stderr, "pcce-report: %llu of %llu samples do not decode; --stats says why\n",
			(unsigned long long)s->undecodable, (unsigned long long)s->samples);
}

static int print(const struct arguments *a, const struct profile *p, FILE *out)
{
	struct format_options o = {
		.min_percent = a->min_percent < 0 ? a->format->min_percent : a->min_percent,
		.max_depth = a->max_depth,
	};
	int r;

	if (!a->stats)
		return a->format->print(p, &o, out);
	r = format_stats(p, out);
	if (!r && a->verbose)
		profile_print_failures(p, out, 10);
	return r;
}

int main(int argc, char **argv)
{
	struct arguments a = {
		.input = "pcce.data",
		.format = &formats[0],
		.inlining = true,
		.min_percent = -1,
	};
	struct profile_options load = {0};
	struct profile *p;
	char why[1024];
	FILE *out = stdout;
	int r;

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	load.tree = !a.stats;
	load.inlining = a.inlining;
	if (profile_load(a.input, &load, &p, why, sizeof(why))) {
		fprintf(stderr, "pcce-report: %s\n", why);
		return 1;
	}
	if (a.output) {
		out = fopen(a.output, "w");
		if (!out) {
			fprintf(stderr, "pcce-report: cannot write %s: %s\n", a.output, strerror(errno));
			profile_free(p);
			return 1;
		}
	}
	if (!a.stats)
		warn_about(p, a.input);
	r = print(&a, p, out);
	profile_free(p);
	errno = 0;
	if (r || fflush(out) || ferror(out) || (a.output && fclose(out))) {
		fprintf(stderr, "pcce-report: cannot write %s: %s\n", a.output ? a.output : "standard output",
			strerror(r	 ? -r
				 : errno ? errno
					 : EIO));
		return 1;
	}
	return 0;
}
