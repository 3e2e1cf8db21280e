/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tells the user what was recorded, what is missing, and why. */
#ifndef PCCE_RECORD_SUMMARY_H
#define PCCE_RECORD_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

struct event_account;
struct record_module;
struct record_options;
struct sampler_event;

/* An event of a finished recording. All pointers stay the caller's. */
struct record_summary {
	const struct record_options *options;
	const struct event_account *account;
	const char *no_match; /* why no context matches --only; "": not known, or some may */
	const struct sampler_event *event;
	bool calls;		 /* its samples are calls, which were counted */
	bool first;		 /* the first event of the recording: tell what concerns all */
	bool last;		 /* the last event of the recording: tell its size */
	bool derived;		 /* an event that comes with another one */
	const char *sampler;	 /* its name */
	const char *why_nothing; /* why the sampler may have seen nothing; or NULL */
	uint64_t bytes;		 /* of the file, or of all files */
	unsigned int windows;	 /* files of --switch-output; 0: there is one file */
	const char *program;	 /* the command's file; NULL: not known */
	const struct record_module *main_module; /* NULL: not known */
	bool whole_stacks;			 /* of what is not instrumented, are unwound */
	bool any_instrumented;			 /* at least one module */
	bool shared_runtime;			 /* libpcce.so.0 was loaded */
	bool privileged;			 /* the user knows that nothing can be sampled */
};

/* Prints warnings, and one line with the result unless options->quiet. */
void record_print_summary(const struct record_summary *s);

#endif
