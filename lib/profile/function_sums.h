/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Sums up a calling context tree by function: the cost of each function, alone and with all that it
 * calls, by line, and the cost of each call. Recursion counts once: of several equal functions, or
 * calls, in a context, only the outermost counts.
 */
#ifndef PCCE_PROFILE_FUNCTION_SUMS_H
#define PCCE_PROFILE_FUNCTION_SUMS_H

#include "profile/functions.h"

struct function_sum {
	uint64_t self, total;
};

/* Cost within a function itself. Without single samples, all is at line 0. */
struct function_line_sum {
	uint32_t function, file, line;
	uint64_t weight;
};

struct function_call_sum {
	uint32_t caller, callee;
	uint32_t file, line; /* in the caller */
	bool inlined;
	uint64_t weight;  /* including all that the callee calls */
	uint64_t samples; /* whose contexts contain this call */
};

struct function_sums {
	struct functions functions;
	struct function_sum *of;	 /* by function */
	struct function_line_sum *lines; /* sorted by function, file and line */
	size_t n_lines;
	struct function_call_sum *calls; /* sorted by caller, callee, file and line */
	size_t n_calls;
	uint64_t total;
};

/* 0 or -ENOMEM. by_line: calls from different lines are told apart. */
int function_sums_new(const struct profile *p, bool by_line, struct function_sums *s);
void function_sums_free(struct function_sums *s);

#endif
