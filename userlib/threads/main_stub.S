/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Empties the encoding stack where the C library jumps to when the main thread's stack has been
 * unwound (main_exit.c).
 *
 * No call of the program is left there. Registers are those of a second return of setjmp, and stay
 * unchanged.
 */
#include <cet.h>
#include "base/asm.h"

	.text
	.p2align 4
	.globl __pcce_main_unwound
	.hidden __pcce_main_unwound
	.type __pcce_main_unwound, @function
__pcce_main_unwound:
	.cfi_startproc
	.cfi_undefined %rip
	_CET_ENDBR
	PAGE_OFFSET %rcx
	EMPTY_STACK rcx, rdx
	notrack jmp *__pcce_main_landing(%rip)
.Lend:
	.cfi_endproc
	.size __pcce_main_unwound, . - __pcce_main_unwound

	RANGE __pcce_main_unwound, .Lend, RESTORING

/* Where the jump was to go. main_exit.c writes it. */
	.bss
	.p2align 3
	.globl __pcce_main_landing
	.hidden __pcce_main_landing
	.type __pcce_main_landing, @object
	.size __pcce_main_landing, 8
__pcce_main_landing:
	.zero 8

	.section .note.GNU-stack, "", @progbits
