/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Profiles a machine all the time: the command line of pcced. lib/daemon does the work. */
#include <argp.h>
#include <stdbool.h>
#include "base/message.h"
#include "daemon/daemon.h"

const char *argp_program_version = "pcced " PCCE_VERSION;

struct arguments {
	const char *config;
	bool check;
};

static const struct argp_option options[] = {
	{"config", 'c', "FILE", 0, "Read the configuration from FILE (default: /etc/pcced.toml)",
	 0},
	{"check", 'n', NULL, 0, "Check the configuration, and do nothing else", 0},
	{0},
};

static error_t parse_daemon_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'c':
		a->config = arg;
		return 0;
	case 'n':
		a->check = true;
		return 0;
	case ARGP_KEY_ARG:
		message_usage(state, "cannot use %s: pcced takes no arguments", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_daemon_option,
	.doc = "Record the whole system all the time, and send it to a store."
	       "\vSIGHUP reads the configuration again. SIGTERM ends it, after the last window is "
	       "sent, or is in the spool.",
};

static void print_mistake(const char *text)
{
	message("pcced", "%s", text);
}

int main(int argc, char **argv)
{
	struct arguments a = {.config = "/etc/pcced.toml"};
	struct daemon_config c;

	argp_err_exit_status = 2;
	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	if (daemon_config_read(a.config, &c, print_mistake))
		return 1;
	if (!a.check)
		return daemon_run(a.config, &c);
	daemon_config_free(&c);
	return 0;
}
