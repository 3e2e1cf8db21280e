/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * replay OPTION... FROM TO: sends a recording through the recorder's chain, as pcce-record with
 * these options writes it. So what a stage makes of samples can be compared with all of them. The
 * files of the modules must be where they were. Options are only=EXPRESSION, hot=PHI,EPSILON,
 * per-thread, and aggregate: each sample becomes an aggregated one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "api/expression.h"
#include "hot/parameters.h"
#include "record/chain.h"
#include "record/write_symbols.h"
#include "stream/recording.h"

static void complain(const char *text)
{
	fprintf(stderr, "%s\n", text);
}

static int aggregate_event(struct stream *s, struct stream_event *e)
{
	e->aggregated = true;
	return stream_pass(s->next, event, e);
}

/* 0, or -1 if an option is wrong. */
static int take_option(const char *option, struct record_options *o, struct expression *e,
		       struct hot_parameters *p, bool *aggregates, struct error *why)
{
	if (!strncmp(option, "only=", 5)) {
		o->only = e;
		o->only_text = option + 5;
		return expression_parse(option + 5, e, why);
	}
	if (!strncmp(option, "hot=", 4)) {
		o->hot = p;
		return hot_parameters_parse(option + 4, p, why);
	}
	if (!strcmp(option, "per-thread"))
		p->per_thread = true;
	else if (!strcmp(option, "aggregate"))
		*aggregates = true;
	else
		return error_set(why, -1, "unknown option %s", option);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct stream_ops ops = {.event = aggregate_event};
	struct pcce_rec_end end = {.exit_status = 0};
	struct stream first = {&ops, NULL};
	struct record_options options = {0};
	struct recording *recording = NULL;
	struct chain_config config = {.options = &options};
	struct hot_parameters hot = {0};
	struct expression only = {0};
	struct chain chain = {0};
	struct error why = {0};
	struct recorded_modules modules;
	bool aggregates = false;
	int r = argc < 3 ? -1 : 0;

	for (int i = 1; i < argc - 2 && !r; i++)
		r = take_option(argv[i], &options, &only, &hot, &aggregates, &why);
	if (r) {
		complain(*why.text ? why.text : "usage: replay OPTION... FROM TO");
		return 2;
	}
	config.fd = open(argv[argc - 1], O_CREAT | O_TRUNC | O_RDWR, 0644);
	if (config.fd < 0 || datafile_writer_new(config.fd, argv[argc - 1], &config.writer))
		return 2;
	config.modules = record_modules_new(config.writer, complain);
	r = chain_build(&chain, &config, &why);
	first.next = chain.first;
	r = r ? r
	      : recording_open(argv[argc - 2], NULL, aggregates ? &first : chain.first, &recording,
			       &why);
	r = r ? r : stream_pass(chain.first, end);
	r = r ? r : datafile_flush(config.writer);
	modules = (struct recorded_modules){.of = config.modules,
					    .n = record_modules_count(config.modules)};
	r = r ? r
	      : write_symbols(argv[argc - 1], config.writer, &modules, complain, complain, &why);
	r = r ? r : datafile_put(config.writer, PCCE_REC_END, &end, sizeof(end), NULL, 0);
	if (r)
		complain(*why.text ? why.text : strerror(-r));
	recording_close(recording);
	chain_free(&chain);
	record_modules_free(config.modules);
	expression_free(&only);
	return datafile_writer_close(config.writer) || r;
}
