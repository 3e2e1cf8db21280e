/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Replaces the C library's syscall(), so that the runtime learns of seccomp(2) and prctl(2) before
 * they happen (prctl.c), and of handlers that rt_sigaction(2) installs
 * (handler.c). A program's own sigaction() may end there. It also follows a child that
 * has its own memory (fork.c), or that shares the page (clone.c).
 *
 * All other calls go to the kernel as the C library sends them: the same registers, the same stack.
 * So calls that return twice, such as clone, do here what they do there.
 *
 * long syscall(long number, ...);
 */
#include "base/asm.h"

#define NR_rt_sigaction 13
#define NR_clone 56
#define NR_fork 57
#define NR_prctl 157
#define NR_seccomp 317
#define NR_clone3 435

.macro SYSTEM_CALL failed=.Lerror
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	mov	%r9, %r8
	mov	8(%rsp), %r9
	syscall
	cmp	$-4095, %rax
	jae	\failed
.endm

	.text
	OWN syscall
	.cfi_startproc
	endbr64
	cmp	$NR_prctl, %rdi
	je	.Lwatch
	cmp	$NR_seccomp, %rdi
	je	.Lwatch
	cmp	$NR_rt_sigaction, %rdi
	je	pcce_syscall_sigaction
	cmp	$NR_fork, %rdi
	je	.Lfork
	cmp	$NR_clone, %rdi
	je	.Lfork
	cmp	$NR_clone3, %rdi
	je	.Lfork
.Lgo:
	SYSTEM_CALL
	ret
.Lerror:
	mov	%rax, %rdi
	jmp	pcce_syscall_error
.Lwatch:
	CALL_KEEPING_ARGUMENTS pcce_watch_syscall
	jmp	.Lgo
.Lfork:
	CALL_KEEPING_ARGUMENTS pcce_watch_fork
	test	%al, %al
	jz	.Ltask
	SYSTEM_CALL
	test	%rax, %rax
	jnz	.Lparent
	GROW 8
	call	pcce_after_raw_fork
	SHRINK 8
	xor	%eax, %eax
.Lparent:
	ret
.Ltask:
	CALL_KEEPING_ARGUMENTS pcce_watch_clone
	cmp	$-1, %rax
	je	.Lgo
	/* In the red zone: the task returns from here on another stack, and needs nothing of it. */
	mov	%rax, -8(%rsp)
	SYSTEM_CALL .Lmade
.Lmade:
	test	%rax, %rax
	jz	.Lparent
	mov	-8(%rsp), %rdi
	mov	%rax, %rsi
	GROW 8
	call	pcce_after_clone
	SHRINK 8
	cmp	$-4095, %rax
	jae	.Lerror
	ret
	.cfi_endproc
	.size	syscall, . - syscall

	.section .note.GNU-stack, "", @progbits
