/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Makes a recording of what a store has: the command line of pcce-pull. lib/store does the work. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/message.h"
#include "base/output_file.h"
#include "store/store.h"
#include "tools/store_options.h"

const char *argp_program_version = "pcce-pull " PCCE_VERSION;

struct arguments {
	struct store_options store;
	const char *output;
};

static const struct argp_option options[] = {
	{"output", 'o', "FILE", 0,
	 "Write to FILE (default: pcce.data); keep an existing file as FILE.old; -: standard "
	 "output",
	 0},
	{0},
};

static error_t parse_pull_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->store;
		return 0;
	case 'o':
		if (!strcmp(arg, "-") && isatty(STDOUT_FILENO))
			message_usage(state, "cannot write a recording on a terminal: it is "
					     "binary; name a file with -o");
		a->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		message_usage(state, "cannot use the argument '%s': name the store with --from",
			      arg);
		return EINVAL;
	case ARGP_KEY_END:
		if (!a->store.from)
			message_usage(state,
				      "cannot pull: no store is given; name one with --from");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {{&store_argp, 0, NULL, 0}, {0}};

static const struct argp argp = {
	.options = options,
	.parser = parse_pull_option,
	.children = children,
	.doc = "Write a selection of a store's recordings into one recording."
	       "\vThe other commands read it like any recording: for example, pcce diff compares "
	       "two weeks.",
};

static void print_pull_note(const char *text)
{
	message(NULL, "%s", text);
}

int main(int argc, char **argv)
{
	struct arguments a = {.output = "pcce.data"};
	struct store_query query;
	struct error why = {0};
	FILE *file;
	int r;

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	query = (struct store_query){a.store.since_time, a.store.until_time, a.store.where};
	file = store_get(a.store.from, &query, print_pull_note, &why);
	if (!file) {
		message(NULL, "%s", why.text);
		return 1;
	}
	r = output_file_copy(file, a.output, OUTPUT_RECORDING, &why);
	if (r)
		message(NULL, "cannot write %s: %s", a.output, why.text);
	fclose(file);
	return r ? 1 : 0;
}
