/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Builds the chain of stages (stream/stream.h) that the options ask for. */
#ifndef PCCE_RECORD_CHAIN_H
#define PCCE_RECORD_CHAIN_H

#include "filter/accounts.h"
#include "filter/frames.h"
#include "record/record.h"
#include "stream/modules.h"

struct chain {
	struct stream *first;
	struct accounts *accounts;
	struct stream *only;	/* NULL: no samples are left out */
	struct stream *windows; /* NULL: there is one file */
	bool incomplete;
};

/* What the chain is made for. All must outlive it. */
struct chain_config {
	const struct record_options *options;
	const struct active_sampler *sampler; /* NULL: events come from a recording */
	struct datafile_writer *writer;
	int fd; /* the writer's */
	struct record_modules *modules;
	struct frames_config frames;
	struct stream *end;   /* NULL: the writer */
	struct stream *watch; /* sees processes, and mappings with their modules; or NULL */
};

/* *c begins as zeros. 0, or -ENOMEM with a sentence in why. In both cases, call chain_free(). */
int chain_build(struct chain *c, const struct chain_config *config, struct error *why);
void chain_free(struct chain *c);

#endif
