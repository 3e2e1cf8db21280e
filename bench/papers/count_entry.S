/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Defines the functions that slots call.  %r11 holds the site's key or the slot's end.  All
 * registers keep their values, and so does the caller's red zone, where a slot may have saved %r10
 * and %r11.
 */
#define ROOM 256 /* more than the red zone */

.macro SLOT name, function, direct=0
	.globl \name
	.type \name, @function
\name:
	.cfi_startproc
	leaq -ROOM(%rsp), %rsp
	.cfi_adjust_cfa_offset ROOM
	pushq %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushq %rax
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %r8
	pushq %r9
	pushq %r10
	pushq %r11
	andq $-16, %rsp
	leaq ROOM + 16(%rbp), %rsi
	movq %r11, %rdi
	movl $\direct, %edx
	cld
	call \function
	movq -8(%rbp), %rax
	movq -16(%rbp), %rcx
	movq -24(%rbp), %rdx
	movq -32(%rbp), %rsi
	movq -40(%rbp), %rdi
	movq -48(%rbp), %r8
	movq -56(%rbp), %r9
	movq -64(%rbp), %r10
	movq -72(%rbp), %r11
	movq %rbp, %rsp
	.cfi_def_cfa_register %rsp
	popq %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	leaq ROOM(%rsp), %rsp
	.cfi_adjust_cfa_offset -ROOM
	ret
	.cfi_endproc
	.size \name, . - \name
.endm

	.text
	SLOT pcce_count_call, count_before, 0
	SLOT pcce_count_direct, count_before, 1
	SLOT pcce_count_return, count_return
	SLOT pcce_count_enter, count_at_entry

count_return:
	movq %rsi, %rdi
	jmp count_after

	.section .note.GNU-stack, "", @progbits
