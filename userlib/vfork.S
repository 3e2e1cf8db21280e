/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * vfork, so that the parent finds its state again.
 *
 * The child runs in the parent's memory and as the parent's thread: it calls, pushes,
 * and is gone by exec or _exit without popping.  What the page said is kept in registers,
 * which the child cannot reach: of them a system call changes rax, rcx and r11 only.
 * The return address goes into one, too, as the child overwrites its place on
 * the stack (the same trick as in the C library).
 *
 * Sanitizers have a vfork of their own.  AddressSanitizer's cleans up what it has noted about the child's frames in the stack;
 * we have it do that.  ThreadSanitizer's is fork(): a child in the memory of a process that it watches would confuse it.
 *
 * From the return of the system call to the last store the state may be the child's:
 * marked as not decodable.
 */
#include "asm.h"

#define NR_vfork 58

	.weak	__tsan_init
	.weak	__asan_handle_vfork

	.text
	.p2align 4
	.globl	vfork
	.type	vfork, @function
vfork:
	.cfi_startproc
	cmpq	$0, __tsan_init@GOTPCREL(%rip)
	jne	fork@PLT
	PAGE_OFFSET %rax
	mov	%fs:PAGE_ID(%rax), %r8
	mov	%fs:PAGE_EXT(%rax), %r9
	mov	%fs:PAGE_OFF(%rax), %rsi	/* and place */
	mov	%esi, %ecx
	mov	%fs:TOP_SITE(%rax, %rcx), %rdx
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	mov	$NR_vfork, %eax
	syscall
.Lback:
	push	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rip, 0
	test	%eax, %eax
	jz	.Ldone
	push	%rax
	.cfi_adjust_cfa_offset 8
	push	%r9
	.cfi_adjust_cfa_offset 8
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	mov	%r8, %rdi
	call	__pcce_restore
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%r9
	.cfi_adjust_cfa_offset -8
	pop	%rax
	.cfi_adjust_cfa_offset -8
	PAGE_OFFSET %rsi
	mov	%r9, %fs:PAGE_EXT(%rsi)
.Ldone:
	mov	__asan_handle_vfork@GOTPCREL(%rip), %rdx
	test	%rdx, %rdx
	jz	2f
	test	%rax, %rax
	jz	2f
	push	%rax
	.cfi_adjust_cfa_offset 8
	mov	%rsp, %rdi
	call	*%rdx
	pop	%rax
	.cfi_adjust_cfa_offset -8
2:
	cmp	$-4095, %rax
	jae	1f
	ret
1:	neg	%eax
	push	%rax
	.cfi_adjust_cfa_offset 8
	call	__errno_location@PLT
	pop	%rcx
	.cfi_adjust_cfa_offset -8
	mov	%ecx, (%rax)
	mov	$-1, %rax
	ret
	.cfi_endproc
	.size	vfork, . - vfork

	.section .pcce_helpers, "R", @progbits
	.quad	.Lback
	.long	.Ldone - .Lback, 3

	.section .note.GNU-stack, "", @progbits
