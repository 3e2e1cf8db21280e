/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A recording, read, decoded and summed up: what pcce-report prints.
 */
#ifndef PCCE_PROFILE_H
#define PCCE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <pcce/datafile.h>
#include "tools/lib/cct.h"
#include "tools/lib/decode.h"
#include "tools/lib/names.h"
#include "tools/lib/select.h"
#include "tools/lib/select_tree.h"
#include "tools/lib/streams.h"
#include "tools/lib/threads.h"

struct profile_stats {	  /* of what is selected; lost and sample_bytes: of the whole recording */
	uint64_t samples; /* = exact + truncated + undecodable + outside */
	uint64_t exact, truncated, undecodable, outside;
	uint64_t lost, lost_reasons[PCCE_LOSS_SHAPE + 1]; /* [0]: for other reasons */
	uint64_t unique_contexts; /* different chains of calls, whatever the instruction in the innermost function */
	uint64_t max_depth;
	uint64_t max_encoding_stack;
	uint64_t sample_bytes; /* of all sample records in the file */
	uint64_t reasons[REASON_COUNT];
	bool verify;
	uint64_t verified, mismatches, unverifiable;
};

struct profile {
	struct names *names;
	struct cct tree; /* of what is selected */
	struct profile_stats stats;
	uint64_t all_samples, all_weight; /* selected or not */
	uint64_t first, last;		  /* times of the first and the last sample */
	struct streams *streams;	  /* threads and their names */
	uint64_t *stream_samples;	  /* selected samples of each stream */
	struct leaf *leaves; /* lines in innermost functions; with options.lines only they tell lines apart */
	size_t n_leaves;
	struct threads threads;
	char *event, *command, *sampler, *host, *kernel; /* from the recording; "" if unknown */
	uint64_t frequency;
	uint64_t start_time, wall_time; /* when it began: CLOCK_MONOTONIC, and ns since 1970 */
	bool own_lines;			/* frames have lines of their own, not those of the calls of them (BY_LINE) */
	bool complete;			/* the recording has its end record */
	uint64_t cut_off;		/* bytes of a record that was cut off at its end */
	uint64_t unknown;		/* records of unknown types */
	struct internals *in;		/* profile_internal.h */
};

struct profile_options {
	bool tree;     /* build the tree; without it there are the statistics only */
	bool inlining; /* functions that the compiler inlined get frames of their own */
	bool lines;    /* tell the lines of innermost functions apart */
	bool again;    /* profile_select() will be called */
	enum names_style names;
	const struct selection *select; /* NULL: everything */
};

/* 0, or -errno with one sentence in why. */
int profile_load(const char *path, const struct profile_options *o, struct profile **out, char *why, size_t why_size);
int profile_load_memory(const void *data, size_t size, const char *name, const struct profile_options *o,
			struct profile **out, char *why, size_t why_size);
void profile_free(struct profile *p);

/* Selects something else, of a profile that was loaded with options.again. 0 or -ENOMEM. */
int profile_select(struct profile *p, const struct selection *s);

/* Another tree of the samples that are selected now, with the detail that s asks for: s selects no samples, and not
 * other contexts. Of a profile that was loaded with options.again. 0 or -ENOMEM. */
int profile_detail(const struct profile *p, const struct selection *s, struct cct *to);

/* The name of an event by its number; several stand in p->event, separated by commas. In buffer. */
const char *profile_event(const struct profile *p, uint32_t event, char *buffer, size_t size);

/* A sample that is selected, in the order of the file. */
struct profile_sample {
	uint64_t time;	 /* ns, CLOCK_MONOTONIC */
	uint64_t depth;	 /* frames, repetitions counted */
	uint32_t stream; /* of profile.streams */
	uint32_t thread; /* of profile.threads */
	uint32_t node;	 /* of profile.tree, where its context ends; 0 without a tree */
	uint32_t weight;
	uint32_t entries; /* on the encoding stack; UINT32_MAX: that or more */
	enum decode_status status;
	enum decode_reason reason;
};

size_t profile_samples(const struct profile *p);
struct profile_sample profile_sample(const struct profile *p, size_t i);

/* Prints the first `max` samples whose context and real stack differ, and as many that do not decode, in full. */
void profile_print_failures(const struct profile *p, FILE *out, size_t max);

#endif
