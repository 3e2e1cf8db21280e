/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds seeds that are refused: they would only test that something is refused. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stdio.h>
#include <stdlib.h>

/* A fuzzer calls it where it refuses its input. FUZZ_SEEDS is set when run.sh runs the seeds. */
static inline void fuzz_refused(const char *why)
{
	if (!getenv("FUZZ_SEEDS"))
		return;
	fprintf(stderr, "a seed is refused: it %s\n", why);
	abort();
}

#endif
