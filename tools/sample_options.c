/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See sample_options.h. */
#include <errno.h>
#include <stdlib.h>
#include "base/array.h"
#include "base/message.h"
#include "record/targets.h"
#include "tools/sample_options.h"

unsigned long long sample_option_number(struct argp_state *state, const char *option,
					const char *arg, unsigned long long max)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 10);
	if (errno || end == arg || *end || *arg == '-' || !n || n > max)
		message_usage(state, "cannot use --%s=%s: it must be a number from 1 to %llu",
			      option, arg, max);
	return n;
}

void sample_option_target(struct argp_state *state, struct record_options *o, const char *arg)
{
	static const char **targets;

	if (!targets_are_named(arg))
		message_usage(state,
			      "cannot use -p %s: it must be numbers of processes or names of "
			      "commands, with commas between them",
			      arg);
	if (array_grow(&targets, o->n_targets, sizeof(*targets)))
		message_usage(state, "out of memory");
	targets[o->n_targets++] = arg;
	o->targets = targets;
}
