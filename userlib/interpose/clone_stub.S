/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Interposes clone(). clone.c says why.
 *
 * int clone(int (*fn)(void *), void *stack, int flags, void *arg, pid_t *parent_tid, void *tls,
 *           pid_t *child_tid);
 *
 * With the flags of vfork(), the new task works on its creator's state while the creator waits, and
 * ends without popping. The task has another stack, so the state is kept in the creator's frame. As
 * after vfork(), the state is marked as not decodable until it is restored. So this makes the
 * system call itself, as the C library does.
 */
#include <cet.h>
#include "base/asm.h"

#define NR_clone 56
#define NR_exit 60
#define CLONE_VM 0x100
#define CLONE_VFORK 0x4000
#define CLONE_SETTLS 0x80000

#define ID 0
#define EXT 8
#define POSITION 16
#define SITE 24
#define FRAME 40

	.text
	OWN clone
	.cfi_startproc
	_CET_ENDBR
	mov	%edx, %eax
	and	$(CLONE_VM | CLONE_VFORK | CLONE_SETTLS), %eax
	cmp	$(CLONE_VM | CLONE_VFORK), %eax
	jne	pcce_clone
	test	%rdi, %rdi
	jz	pcce_clone
	and	$-16, %rsi
	jz	pcce_clone
	sub	$16, %rsi
	mov	%rdi, (%rsi)
	mov	%rcx, 8(%rsi)
	mov	8(%rsp), %r10
	GROW	FRAME
	PAGE_OFFSET %rcx
	mov	%fs:PAGE_ID(%rcx), %rax
	mov	%rax, ID(%rsp)
	mov	%fs:PAGE_EXT(%rcx), %rax
	mov	%rax, EXT(%rsp)
	mov	%fs:PAGE_OFF(%rcx), %rax	/* and place */
	mov	%rax, POSITION(%rsp)
	movslq	%eax, %rax
	mov	%fs:TOP_SITE(%rcx, %rax), %rax
	mov	%rax, SITE(%rsp)
	movslq	%edx, %rdi
	mov	%r8, %rdx
	mov	%r9, %r8
	mov	$NR_clone, %eax
	syscall
.Lback:
	test	%rax, %rax
	jz	.Lchild
	mov	%rax, FRAME - 8(%rsp)
	mov	ID(%rsp), %rdi
	mov	POSITION(%rsp), %rsi
	mov	SITE(%rsp), %rdx
	call	__pcce_restore
	PAGE_OFFSET %rcx
	mov	EXT(%rsp), %rax
	mov	%rax, %fs:PAGE_EXT(%rcx)
.Ldone:
	mov	FRAME - 8(%rsp), %rax
	.cfi_remember_state
	SHRINK	FRAME
	cmp	$-4095, %rax
	jae	.Lerror
	ret
.Lerror:
	mov	%rax, %rdi
	jmp	pcce_syscall_error
	.cfi_restore_state
	/* The outermost frame of the new task. */
.Lchild:
	.cfi_undefined %rip
	xor	%ebp, %ebp
	pop	%rax
	pop	%rdi
	call	*%rax
	mov	%eax, %edi
	mov	$NR_exit, %eax
	syscall
	ud2
	.cfi_endproc
	.size	clone, . - clone

	RANGE .Lback, .Ldone, RESTORING

	.section .note.GNU-stack, "", @progbits
