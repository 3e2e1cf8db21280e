/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the paper's first table says of a program's call graph. */
#ifndef PCCE_BENCH_STATIC_H
#define PCCE_BENCH_STATIC_H

#include "bench/paper/program.h"

struct static_counts {
	uint64_t lines; /* of source files that the program's code comes from, as far as they are
			   there */
	uint64_t files;
	uint32_t nodes;	    /* functions */
	uint32_t edges;	    /* calls between them that name their callee */
	uint32_t recursive; /* of these, those that a depth-first search finds to close a cycle */
	uint32_t indirect;  /* calls through pointers */
	uint32_t outside;   /* calls of code that is not instrumented */
	long double largest_context; /* id, when each function counts its own contexts: the paper's
					numbering */
	long double largest_path; /* id, when all contexts of the program are counted together: Ball
				     and Larus */
};

/* root: names a directory; source files elsewhere do not count. */
int static_count(const struct program *p, const char *path, const char *root,
		 struct static_counts *out, struct error *why);

#endif
