/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Decides whether whole stacks are unwound if --frames does not say it: those of threads that are
 * not instrumented, if the command's own file has no encoding table. Such a program has no contexts
 * otherwise. Samples of instrumented threads are the same in both cases. In the whole system, there
 * are always such programs.
 */
#ifndef PCCE_RECORD_CHOOSE_FRAMES_H
#define PCCE_RECORD_CHOOSE_FRAMES_H

#include "record/record.h"
#include "record/targets.h"
#include "sampler/sampler.h"

/* Returns what to ask the samplers for. program: the command's file; NULL: those of the targets. */
enum sampler_copy choose_frames(const struct record_options *o, const char *program,
				const struct targets *targets);
/* Tells the choice, after a sampler was chosen. If this one does not see the threads that are not
 * instrumented, nothing is unwound. */
void choose_frames_for(const struct sampler_ops *ops, const char *program, bool quiet,
		       struct sampler_config *config);

#endif
