/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Replaces the C library's syscall(), so that the runtime learns of seccomp(2) and prctl(2) before
 * they happen (interpose_prctl.c).
 *
 * All other calls go to the kernel as the C library sends them: the same registers, the same stack.
 * So calls that return twice, such as clone, do here what they do there.
 *
 * long syscall(long number, ...);
 */
#include "asm.h"

#define NR_prctl 157
#define NR_seccomp 317

	.text
	.p2align 4
	.globl	syscall
	.type	syscall, @function
syscall:
	.cfi_startproc
	endbr64
	cmp	$NR_prctl, %rdi
	je	.Lwatch
	cmp	$NR_seccomp, %rdi
	je	.Lwatch
.Lgo:
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	mov	%r9, %r8
	mov	8(%rsp), %r9
	syscall
	cmp	$-4095, %rax
	jae	.Lerror
	ret
.Lerror:
	mov	%rax, %rdi
	jmp	pcce_syscall_error
.Lwatch:
	CALL_KEEPING_ARGUMENTS pcce_watch_syscall
	jmp	.Lgo
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
