/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines what the runtime's assembly files share: offsets in the thread page, and macros.
 *
 * The offsets are those of struct pcce_page in include/pcce/abi.h, which asserts them.
 */
#ifndef PCCE_USERLIB_ASM_H
#define PCCE_USERLIB_ASM_H

#include "base/page_offset.h"

#define PAGE_STATE 12
#define PAGE_ID 16
#define PAGE_EXT 24
#define PAGE_OFF 32
#define PAGE_PLACE 36
#define PAGE_AREA 40
#define PAGE_COUNTING 48
#define PAGE_JUMPS 56
#define PAGE_GENERATION 64
#define PAGE_BASE 112
#define TOP_ID 112 /* of the entry below off */
#define TOP_SITE 120
#define TOP_COUNT 126
#define NEW_ID 128 /* of the entry at off */
#define NEW_SITE 136
#define OFF_FULL 256
#define OFF_HALF 512
#define OFF_USED 511
#define OFF_BAD 0xfffffc00  /* an impossible off */
#define OFF_SLOW 0xfffffd00 /* no room in the segment, or an impossible off */
#define PLACE_SHIFT 2
#define PLACE_KEPT 1
#define PLACE_HELD 3
#define EXT_CHANGING 1
#define MARK_WORD 0xffff000000000000
#define KIND_JUMP 0xfff2000000000000
#define KIND_JUMP2 0xfff3000000000000
#define KIND_FILL 0xfff4000000000000
#define KIND_LEAF 0xfff5000000000000
#define KIND_UNKNOWN 0xfff8000000000000
#define COUNT_FILL 0xfff4
#define COUNT_UNKNOWN 0xfff8
#define STATE_SHARED 4

/* enum pcce_helper_state (include/pcce/table.h) */
#define NOTHING 0
#define CLAIMED 1
#define PUSHED 2
#define RESTORING 3
#define JUMPING 4
#define LANDING 6
#define LANDED 7

/* clang-format off */

/* While ip is in [from, to) it means state: see enum pcce_helper_state. "R": --gc-sections keeps
 * it. */
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

.macro GROW bytes
	subq $\bytes, %rsp
	.cfi_adjust_cfa_offset \bytes
.endm

.macro SHRINK bytes
	addq $\bytes, %rsp
	.cfi_adjust_cfa_offset -\bytes
.endm

/* Calls a function of C, which may change them, and keeps the registers of six arguments. */
.macro CALL_KEEPING_ARGUMENTS function
	SAVE rdi
	SAVE rsi
	SAVE rdx
	SAVE rcx
	SAVE r8
	SAVE r9
	GROW 8
	call \function
	SHRINK 8
	UNSAVE r9
	UNSAVE r8
	UNSAVE rcx
	UNSAVE rdx
	UNSAVE rsi
	UNSAVE rdi
.endm

/* Begins a function that replaces that of the C library: see own.h. */
.macro OWN name
	.p2align 4
	.globl \name
	.type \name, @function
	.globl pcce_own_\name
	.hidden pcce_own_\name
	.type pcce_own_\name, @function
\name:
pcce_own_\name:
.endm

/* Sets the state of a thread that begins, with no call of the program. %page has the page's
 * offset. */
.macro EMPTY_STACK page, scratch
	testl $STATE_SHARED, %fs:PAGE_STATE(%\page)
	jnz 9f
	movq $0, %fs:PAGE_OFF(%\page) /* and place */
	movq $0, %fs:PAGE_BASE(%\page)
	movabsq $MARK_WORD, %\scratch
	movq %\scratch, %fs:PAGE_BASE + 8(%\page)
	movq $0, %fs:PAGE_ID(%\page)
	movq $0, %fs:PAGE_EXT(%\page)
9:
.endm

/* clang-format on */

#endif
