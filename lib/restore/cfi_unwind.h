/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Unwinds one frame of x86-64 by the rules of unwind information.
 */
#ifndef PCCE_RESTORE_CFI_UNWIND_H
#define PCCE_RESTORE_CFI_UNWIND_H

#include "restore/restore.h"
#include "symbols/cfi.h"

/* What a struct restore_state has, in this order. r10 and rdi are lost in calls, but some functions
 * find the ends of their frames by them. */
#define CFI_UNWIND_REGISTERS                                              \
	{                                                                 \
		3 /* rbx */, 6 /* rbp */, 10, 12, 13, 14, 15, 5 /* rdi */ \
	}

/* row: the rules at state->pc, or before it if that is a return address. vaddr: the link-time
 * address there. */
enum restore_step cfi_unwind(const struct cfi_row *row, uint64_t vaddr,
			     const struct restore_ops *ops, void *ctx,
			     const struct restore_state *state, struct restore_frame *frame);

#endif
