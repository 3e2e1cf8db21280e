/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A calling context tree summed up by functions: what each costs itself and with all it calls, by
 * line, and what each call of one by another costs.  Recursion is counted once: what is below the
 * outermost of several equal functions, or calls, in a context.
 */
#ifndef PCCE_PROFILE_FUNCTION_SUMS_H
#define PCCE_PROFILE_FUNCTION_SUMS_H

#include "profile/functions.h"

struct function_sum {
	uint64_t self, total;
};

struct function_line_sum { /* in a function itself; without single samples, all in one with line 0
			    */
	uint32_t function, file, line;
	uint64_t weight;
};

struct function_call_sum {
	uint32_t caller, callee;
	uint32_t file, line; /* in the caller */
	bool inlined;
	uint64_t weight;  /* with all that the callee calls */
	uint64_t samples; /* in which this call is under way */
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
