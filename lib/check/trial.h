/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Tries pcce on this machine, from the compiler to the report. */
#ifndef PCCE_CHECK_TRIAL_H
#define PCCE_CHECK_TRIAL_H

#include "base/error.h"

struct trial {
	char compiler[256];		   /* what it calls itself; "" if it cannot be run */
	struct error build;		   /* why no program can be built; "": one was */
	struct error record;		   /* why it cannot be recorded and reported */
	unsigned long long samples, exact; /* not before main */
};

/* Builds a small program in a temporary folder, records it and reads the recording back, with the
 * commands beside the running one. Runs the compiler of pcce-gcc. */
void trial_run(struct trial *t);

#endif
