/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Runs pcce-record after its options are known. */
#ifndef PCCE_RECORD_RECORD_H
#define PCCE_RECORD_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "bpf/sampler.h"

struct count_bursts;
struct expression;
struct hot_parameters;
struct record_modules;
struct reuse_ops;
struct sampler_event;
struct sampler_system;
struct stream;

/* A recording in several files, one for each window of time. All zeros: it has one. */
struct record_windows {
	bool each;	    /* there are windows */
	uint64_t ns, bytes; /* after which a window ends; 0: no limit */
};

/* Samples that are shown while they are taken, instead of being written. */
struct record_live {
	/* Returns the end of the stream; NULL: no memory. It may use the modules until its
	 * function `free` is called. */
	struct stream *(*end)(void *ctx, struct record_modules *m);
	/* Calls step() until the user ends it. step() takes what has come, and waits for more,
	 * for at most `ms`. It returns 0; 1: the recorded processes have ended, or a signal
	 * came; or -errno. The result is 0, -errno, or 1: it failed, and has said why. */
	int (*run)(void *ctx, int (*step)(void *recorder, int ms), void *recorder);
	void *ctx;
};

struct record_options {
	const struct sampler_event *events; /* n_events, at least one, that are sampled */
	uint32_t n_events;
	bool waits;	     /* one of them samples waits */
	const char *sampler; /* "auto", or the name of one */
	const char *output;
	struct record_windows windows;
	uint64_t duration;	    /* ns, after which the recording ends; 0: with the program */
	const char *const *targets; /* n_targets: of -p, see targets.h */
	size_t n_targets;
	const struct sampler_system
		*system; /* record all processes; NULL: those of -p, or command */
	char **command;	 /* NULL: none is run */
	int signal;	 /* of the self sampler; 0: its default */
	bool verify, quiet, verbose;
	const struct hot_parameters *hot; /* NULL: keep all samples */
	const struct expression *only;	  /* keep only samples in these contexts; NULL: all */
	const char *only_text;		  /* as it was written */
	bool count;			  /* calls, instead of taking samples */
	bool sampled;			  /* with count: take samples, too */
	const char *counted;		  /* what count calls the event that it counts */
	/* That counts: "cct", "hcct" or "lossy" (both need hot), or "empty"; else NULL. */
	const char *engine;
	const struct count_bursts *bursts; /* of count; NULL: count all the time */
	const char *latency;		   /* of count: functions that are timed; NULL: none */
	enum sampler_copy frames;	   /* of which samples frames are restored */
	bool choose_frames;		   /* or the recorder chooses: choose_frames.h */
	const struct reuse_ops *reuse;	   /* NULL: unwind all frames of each sample */
	const struct record_live *live;	   /* NULL: write a recording */
};

/* Records, and prints all messages. Returns the exit status for main(): the command's, if it ran
 * (128 + signal if a signal killed it); 127 or 126 if it could not be run; 1 if recording failed.
 * *complete: the recording can be shown now. It has its end, the command does not run any more, and
 * nobody asked the recorder to terminate. */
int record_run(const struct record_options *options, bool *complete);

#endif
