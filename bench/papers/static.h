/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Declares the counts of a program's call graph in the paper's first table. */
#ifndef PCCE_BENCH_STATIC_H
#define PCCE_BENCH_STATIC_H

#include "bench/papers/program.h"

struct static_counts {
	uint64_t lines; /* of the program's source files that exist */
	uint64_t files;
	uint32_t nodes;	    /* functions */
	uint32_t edges;	    /* calls between functions that name their callee */
	uint32_t recursive; /* edges that a depth-first search finds to close a cycle */
	uint32_t indirect;  /* calls through pointers */
	uint32_t outside;   /* calls of code that is not instrumented */
	/* The largest id if each function counts its contexts separately: the paper's numbering. */
	long double largest_context;
	/* The largest id if all contexts of the program are counted together: Ball and Larus. */
	long double largest_path;
};

/* Counts the graph of p, and the source files of the program at path that are below the directory
 * root.  Returns 0, or -errno with a message in why. */
int static_count(const struct program *p, const char *path, const char *root,
		 struct static_counts *out, struct error *why);

#endif
