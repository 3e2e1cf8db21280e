/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unwinds one frame of x86-64 by the rules of unwind information.
 */
#ifndef PCCE_UNWIND_CFI_UNWIND_H
#define PCCE_UNWIND_CFI_UNWIND_H

#include "symbols/cfi.h"
#include "unwind/unwind.h"

/* What a struct unwind_state has, in this order. r10 and rdi are lost in calls, but some functions
 * find the ends of their frames by them. */
#define CFI_UNWIND_REGISTERS                                              \
	{                                                                 \
		3 /* rbx */, 6 /* rbp */, 10, 12, 13, 14, 15, 5 /* rdi */ \
	}

/* The index of a register of DWARF in a struct unwind_state, or -1. */
int cfi_unwind_register(uint32_t number);
/* row: the rules at state->pc, or before it if that is a return address. */
enum unwind_step cfi_unwind(const struct cfi_row *row, unwind_read *read, void *ctx,
			    const struct unwind_state *state, struct unwind_frame *frame);

#endif
