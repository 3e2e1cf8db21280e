/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Unwinds the copy of the stack that a sample brings, by the unwind information of its modules. */
#ifndef PCCE_FILTER_STACK_UNWINDER_H
#define PCCE_FILTER_STACK_UNWINDER_H

#include <pcce/abi.h>
#include "decode/decode.h"
#include "stream/modules.h"
#include "symbols/cfi.h"
#include "unwind/unwind.h"

/* All callbacks of unwind/unwind.h below take it as their ctx. */
struct stack_unwinder {
	const struct record_modules *modules;
	struct cfi **cfi; /* by module */
	bool *cfi_tried;
	size_t n_cfi;
	/* The rest describes the current sample. */
	const struct decode_space *as;
	const uint64_t *words;
	uint64_t sp;
	uint32_t n_words;
	uint64_t beyond; /* words up to one beyond the copy that was needed; 0: none was */
};

/* The sample has a copy with at least all registers. *state: its innermost function. */
void stack_unwinder_begin(struct stack_unwinder *u, const struct decode_space *as,
			  const struct pcce_sample *s, struct unwind_state *state);
void stack_unwinder_free(struct stack_unwinder *u);

bool stack_unwinder_read(void *ctx, uint64_t address, uint64_t *word);
/* True if the address returns to instrumented code. */
bool stack_unwinder_stop(void *ctx, uint64_t ret);
enum unwind_step stack_unwinder_step(void *ctx, const struct unwind_state *state,
				     struct unwind_frame *f);
/* Returns the rules at this state, and their link-time address; NULL: there are none. */
const struct cfi_row *stack_unwinder_rules(struct stack_unwinder *u,
					   const struct unwind_state *state, uint64_t *vaddr);

#endif
