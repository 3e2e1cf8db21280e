/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Adds recordings to a store: the command line of pcce-push. lib/store does the work. */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "base/message.h"
#include "store/store.h"

const char *argp_program_version = "pcce-push " PCCE_VERSION;

struct arguments {
	const char *to, *service;
	char **inputs;
	bool quiet;
};

static const struct argp_option options[] = {
	{"to", 't', "STORE", 0,
	 "Add to STORE: a folder, clickhouse://HOST/DATABASE, or chdb:FOLDER", 0},
	{"service", 's', "NAME", 0,
	 "Say that the machine runs service NAME (default: the name of each process)", 0},
	{"quiet", 'q', NULL, 0, "Print only warnings and errors", 0},
	{0},
};

static error_t parse_push_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 't':
		a->to = arg;
		return 0;
	case 's':
		a->service = arg;
		return 0;
	case 'q':
		a->quiet = true;
		return 0;
	case ARGP_KEY_ARGS:
		a->inputs = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (!a->to)
			message_usage(state, "cannot push: no store is given; name one with --to");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_push_option,
	.args_doc = "[RECORDING...]",
	.doc = "Add recordings to a store, which keeps those of many machines."
	       "\vpcce report --from=STORE shows a selection of them. A recording that is there "
	       "already is not added again. Without RECORDING, pcce.data is added.",
};

static void print_push_note(const char *text)
{
	message("pcce-push", "%s", text);
}

int main(int argc, char **argv)
{
	static char *by_default[] = {"pcce.data", NULL};
	struct arguments a = {0};
	struct error why = {0};
	size_t n = 0;

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	for (char **input = a.inputs ? a.inputs : by_default; *input; input++, n++) {
		if (!store_put(a.to, strcmp(*input, "-") ? *input : "/dev/stdin", a.service,
			       print_push_note, &why))
			continue;
		message("pcce-push", "%s", why.text);
		return 1;
	}
	if (!a.quiet)
		message("pcce-push", "%zu recording%s added", n, n == 1 ? "" : "s");
	return 0;
}
