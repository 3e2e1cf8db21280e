/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Merges recordings: the command line of pcce-merge. lib/merge does the work. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/message.h"
#include "merge/merge.h"
#include "base/output_file.h"
#include "base/progress.h"

const char *argp_program_version = "pcce-merge " PCCE_VERSION;

struct arguments {
	const char *output;
	char **inputs;
	bool quiet;
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0,
	 "Write to FILE (default: pcce.merged.data); keep an existing file as FILE.old; -: "
	 "standard output",
	 0},
	{"quiet", 'q', NULL, 0, "Print only warnings and errors", 0},
	{0},
};

static error_t parse_merge_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'o':
		if (!strcmp(arg, "-") && isatty(STDOUT_FILENO))
			message_usage(state, "cannot write a recording on a terminal: it is "
					     "binary; name a file with -o");
		a->output = arg;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case ARGP_KEY_ARGS:
		a->inputs = state->argv + state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		message_usage(state,
			      "cannot merge: no recording is given; name the recordings to merge");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_merge_option,
	.args_doc = "RECORDING...",
	.doc = "Join recordings of many runs, processes and machines into one recording."
	       "\vSamples in one context at one instruction become one aggregated sample. The "
	       "result and the memory that merging takes grow with the number of different "
	       "contexts. Processes of one program and name become one process, and their threads "
	       "of one name become one thread. A recording named - is standard input.",
};

static void print_merge_note(const char *text)
{
	message("pcce-merge", "%s", text);
}

static int fail_merge(const char *why)
{
	message("pcce-merge", "%s", why);
	return 1;
}

static int cannot_write_merged(const char *path, const char *reason)
{
	message("pcce-merge", "cannot write %s: %s", path, reason);
	return 1;
}

/* name: of path, for messages */
static int write_merged(const struct merge *m, const char *path, const char *name)
{
	struct datafile_writer *w;
	struct output_file out;
	struct error why = {0};
	int r = output_file_create(&out, path, OUTPUT_RECORDING, &why);

	if (r)
		return cannot_write_merged(name, why.text);
	progress_phase("writing");
	r = datafile_writer_new(out.fd, name, &w);
	if (!r) {
		int closed;

		r = merge_write(m, w);
		closed = datafile_flush(w);
		error_set(&why, 0, "%s", datafile_writer_error(w));
		r = r ? r : closed;
		closed = datafile_writer_close(w);
		r = r ? r : closed;
	}
	r = r ? r : output_file_commit(&out);
	progress_end();
	if (r) {
		output_file_discard(&out);
		return *why.text ? fail_merge(why.text) : cannot_write_merged(name, strerror(-r));
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct arguments a = {.output = "pcce.merged.data"};
	const char *name;
	struct merge_counts counts;
	struct merge *m;
	struct error why;
	int status;

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	m = merge_new();
	if (!m)
		return fail_merge("cannot merge: out of memory");
	if (!a.quiet)
		progress_enable("pcce-merge");
	for (char **input = a.inputs; *input; input++) {
		if (merge_add(m, strcmp(*input, "-") ? *input : "/dev/stdin", print_merge_note,
			      &why)) {
			merge_free(m);
			return fail_merge(why.text);
		}
	}
	name = strcmp(a.output, "-") ? a.output : "standard output";
	status = write_merged(m, a.output, name);
	counts = merge_counts(m);
	if (!status && !a.quiet)
		message("pcce-merge",
			"%s: %" PRIu64 " samples of %" PRIu64 " recordings, in %" PRIu64
			" aggregated samples",
			name, counts.samples, counts.files, counts.sums);
	merge_free(m);
	return status;
}
