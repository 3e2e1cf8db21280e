/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the runtime's assembly files share: the thread page's offsets (struct pcce_page in
 * include/pcce/abi.h, which asserts them) and macros.
 */
#ifndef PCCE_USERLIB_ASM_H
#define PCCE_USERLIB_ASM_H

#include "page_offset.h"

#define PAGE_ID 16
#define PAGE_EXT 24
#define PAGE_OFF 32
#define PAGE_PLACE 36
#define TOP_ID 112 /* of the entry below off */
#define TOP_SITE 120
#define TOP_COUNT 126
#define OFF_FULL 512
#define OFF_HALF 1024
#define OFF_USED 1023
#define PLACE_SHIFT 2
#define EXT_CHANGING 1

/* clang-format off */

/* [from, to) means state: see enum pcce_helper_state.  "R": --gc-sections keeps it. */
.macro RANGE from, to, state
	.pushsection .pcce_helpers, "R", @progbits
	.quad \from
	.long \to - \from
	.long \state
	.popsection
.endm

.macro SAVE reg
	pushq %\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %\reg, 0
.endm

.macro UNSAVE reg
	popq %\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore %\reg
.endm

/* clang-format on */

#endif
