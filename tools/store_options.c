/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See store_options.h. */
#include <time.h>
#include "base/message.h"
#include "store/time.h"
#include "tools/store_options.h"

enum { OPT_FROM = 1024, OPT_SINCE, OPT_UNTIL, OPT_WHERE };

static const struct argp_option options[] = {
	{"from", OPT_FROM, "STORE", 0,
	 "Read from STORE: a folder that pcce-push has filled, clickhouse://HOST/DATABASE, or "
	 "chdb:FOLDER",
	 0},
	{"since", OPT_SINCE, "TIME", 0,
	 "Select recordings that began at TIME or later: an age (15m, 2h, 3d), or a date as "
	 "2026-11-30 or '2026-11-30 07:45' (default: 1d)",
	 0},
	{"until", OPT_UNTIL, "TIME", 0, "Select recordings that began before TIME", 0},
	{"where", OPT_WHERE, "CONDITION", 0,
	 "Select samples by an SQL condition over host, service, process, thread, build, event and "
	 "time",
	 0},
	{0},
};

static error_t parse_age(struct argp_state *state, const char *option, const char *arg,
			 uint64_t *to)
{
	struct error why = {0};

	return message_option(state, option, store_time(arg, (uint64_t)time(NULL), to, &why),
			      why.text);
}

static error_t parse_store_option(int key, char *arg, struct argp_state *state)
{
	struct store_options *o = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		return parse_age(state, "since", "1d", &o->since_time);
	case OPT_FROM:
		o->from = arg;
		return 0;
	case OPT_SINCE:
		o->since = arg;
		return parse_age(state, "since", arg, &o->since_time);
	case OPT_UNTIL:
		o->until = arg;
		return parse_age(state, "until", arg, &o->until_time);
	case OPT_WHERE:
		o->where = arg;
		return 0;
	case ARGP_KEY_END:
		if (!o->from && (o->since || o->until || o->where))
			message_usage(state, "cannot use --%s without --from, which names a store",
				      o->since	 ? "since"
				      : o->until ? "until"
						 : "where");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp store_argp = {.options = options, .parser = parse_store_option};
