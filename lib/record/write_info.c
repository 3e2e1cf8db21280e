/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* See write_info.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "base/clock.h"
#include "record/write_info.h"

static char *command_line(char **argv)
{
	size_t size = 1, i;
	char *line, *end;

	for (i = 0; argv && argv[i]; i++)
		size += strlen(argv[i]) + 1;
	line = malloc(size);
	if (!line)
		return NULL;
	end = line;
	*end = 0;
	for (i = 0; argv && argv[i]; i++) {
		if (i)
			*end++ = ' ';
		end = stpcpy(end, argv[i]);
	}
	return line;
}

/* The rates of events, if there are several. */
static int write_events(struct stream *to, const struct sampler_config *config)
{
	int err = 0;

	for (uint32_t i = 0; i < config->n_events && config->n_events > 1 && !err; i++) {
		const struct pcce_rec_event rec = {
			.frequency = config->events[i].frequency,
			.period = config->events[i].period,
			.event = i,
		};

		err = stream_pass(to, record, PCCE_REC_EVENT, &rec, sizeof(rec), NULL, 0);
	}
	return err;
}

/* Writes the names of all events, with commas. */
static void name_all_events(const struct record_options *o, char *list, size_t size)
{
	size_t at = 0;

	*list = 0;
	if (o->count)
		at += (size_t)snprintf(list, size, "%s", o->counted);
	for (uint32_t i = 0; i < o->n_events && (!o->count || o->sampled) && at < size; i++)
		at += (size_t)snprintf(list + at, size - at, "%s%s", at ? "," : "",
				       o->events[i].name);
}

/* What the recording says of its sampler and its events: lists if it has several of them. */
int write_info(struct stream *to, const struct record_options *o,
	       const struct sampler_config *config, const struct sampler_ops *ops)
{
	const struct sampler_ops *beside = config->beside;
	struct pcce_rec_info rec = {
		.start_time = clock_ns(CLOCK_MONOTONIC),
		.wall_time = clock_ns(CLOCK_REALTIME),
		.frequency = config->events->frequency,
		.period = config->events->period,
		.flags = (config->verify ? PCCE_INFO_VERIFY : 0) |
			 (config->copy ? PCCE_INFO_FRAMES : 0) | (beside ? PCCE_INFO_CALLS : 0),
	};
	char *line = command_line(o->command), sampler[64];
	char events[SAMPLER_EVENTS * sizeof(config->events->name)];
	struct utsname u;
	int err;

	if (!line)
		return -ENOMEM;
	if (uname(&u))
		memset(&u, 0, sizeof(u));
	snprintf(sampler, sizeof(sampler), "%s%s%s", ops->name, beside ? "," : "",
		 beside ? beside->name : "");
	name_all_events(o, events, sizeof(events));
	err = stream_pass(to, record, PCCE_REC_INFO, &rec, sizeof(rec),
			  (const char *const[]){sampler, events, line, u.nodename, u.release}, 5);
	free(line);
	return err ? err : write_events(to, config);
}
