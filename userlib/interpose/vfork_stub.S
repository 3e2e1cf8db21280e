/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Interposes vfork, so that the parent finds its state again.
 *
 * The child runs in the parent's memory and as the parent's thread. It calls, pushes, and ends by
 * exec or _exit without popping. The page's state is kept in registers, which the child cannot
 * reach; a system call changes only rax, rcx and r11 of them. The return address is in one, too, as
 * the child overwrites its place on the stack (the C library does the same).
 *
 * Sanitizers have their own vfork. AddressSanitizer's cleans up what it has recorded about the
 * child's frames on the stack; this one makes it do that. ThreadSanitizer's is fork(): it could not
 * follow a child in the memory of the process that it watches.
 *
 * From the return of the system call to the last store the state may be the child's, so it is
 * marked as not decodable.
 */
#include "base/asm.h"

#define NR_vfork 58

	.weak	__tsan_init
	.weak	__asan_handle_vfork

	.text
	OWN vfork
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
