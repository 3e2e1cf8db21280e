/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Holds the stubs that the unwinder enters instead of an uninstrumented landing pad: see landing.c.
 *
 * A stub is entered as the landing pad would be. The function is in the middle of its frame, and
 * all registers that a call keeps are its own. rax and rdx hold what the landing pad must know of
 * the exception; the others are free. Only the stub's number tells which landing it is, so each
 * landing that can be under way has a stub.
 *
 * For an unwinder, the function has called the stub by the call that the exception came out of.
 */
#include <cet.h>
#include "base/asm.h"
#include "interpose/landing.h"

	.text
	.p2align 5
	.globl __pcce_landing_stubs
	.hidden __pcce_landing_stubs
	.type __pcce_landing_stubs, @function
__pcce_landing_stubs:
	.cfi_startproc simple
	.cfi_def_cfa %rsp, 0
	.cfi_undefined %rip
	.set number, 0
	.rept LANDINGS
	_CET_ENDBR
	nopl 0x65636370(%rax)	/* PCCE_LANDING_MARK, for the runtime of a shared library */
	movb $number, %cl
	jmp .Lland
	.set number, number + 1
	.org __pcce_landing_stubs + number * LANDING_STUB, 0x90 /* the jump may be short */
	.endr
	.cfi_endproc
	.size __pcce_landing_stubs, . - __pcce_landing_stubs

	.p2align 4
	.type .Lland, @function
.Lland:
	.cfi_startproc simple
	.cfi_def_cfa %rsp, 0
	.cfi_undefined %rip
	movzbl %cl, %ecx
	leaq __pcce_landings(%rip), %r8
	imulq $LANDING_BYTES, %rcx, %r9
	pushq LANDING_CALL(%r8, %r9)
	.cfi_def_cfa_offset 8
	.cfi_offset %rip, -8
	SAVE rax
	SAVE rdx
	SAVE rbp
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	andq $-16, %rsp
	movl %ecx, %edi
	call __pcce_landing_finish
	movq %rax, %r11
	movq %rbp, %rsp
	.cfi_def_cfa_register %rsp
	UNSAVE rbp
	UNSAVE rdx
	UNSAVE rax
	leaq 8(%rsp), %rsp
	.cfi_def_cfa_offset 0
	.cfi_undefined %rip
	PAGE_OFFSET %r10
	movq $0, %fs:PAGE_EXT(%r10)
	jmp *%r11
	.cfi_endproc
	.size .Lland, . - .Lland

	.section .note.GNU-stack, "", @progbits
