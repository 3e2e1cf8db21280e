/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Says what a frame that was unwound by unwind information follows from. restore_frames() knows by
 * that whether the frame still holds at the next request.
 */
#ifndef PCCE_RESTORE_CFI_RULE_H
#define PCCE_RESTORE_CFI_RULE_H

#include "restore/restore.h"
#include "symbols/cfi.h"

/* Completes f, whose f->is cfi_unwind() has set. vaddr: the link-time address of row's rules. */
void cfi_rule_set(const struct cfi_row *row, uint64_t vaddr, const struct unwind_state *state,
		  struct restore_frame *f);

#endif
