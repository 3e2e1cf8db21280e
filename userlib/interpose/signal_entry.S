/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Enters every signal handler that the program installs, on top of a push of the interrupted state.
 *
 * A signal arrives at any instruction, so the page describes the interrupted code, whose id has no
 * meaning in the handler. This entry puts two special entries on the encoding stack
 * (include/pcce/abi.h, PCCE_COUNT_SIGNAL), which keep the interrupted id, ext, ip and r11. It
 * begins a new segment, calls the program's handler, and undoes all. A push claims its entry before
 * it fills it, so what is above off is free whatever was interrupted.
 *
 * It returns through its own rt_sigreturn and not through libc's restorer. While the instruction
 * pointer is in this file's marked ranges, the state is not decodable, and the sample says so. In
 * libc it would look like a call from the interrupted function. The kernel's frame stays as it was
 * built, with the restorer, so debuggers and unwinders see a usual signal frame.
 *
 * The program may have overwritten the page. If off is impossible, the entry begins with an empty
 * page, so that a handler for the crash can run. What was there is unknown for good then.
 *
 * If the handler has changed the instruction pointer or the stack pointer of its ucontext, the
 * state that is restored is marked as unknown (redirect.c). In a page that is shared, nothing is
 * pushed.
 *
 * If there is no room for two adjacent entries, segments.c makes room. ext then names nothing, so
 * no sample decodes meanwhile.
 *
 * void __pcce_signal_entry(int sig, siginfo_t *info, void *ucontext);
 *
 * The first two instructions do nothing. They tell the runtime of another namespace that this is an
 * entry, and where the program's handlers are (handler.c).
 *
 * x86-64 passes all three whether or not SA_SIGINFO is set (arch/x86/kernel/signal).
 */
#include "base/asm.h"
#include "interpose/signal_entry.h"

#define UC_R11 64  /* offsetof(ucontext_t, uc_mcontext.gregs[REG_R11]) */
#define UC_RSP 160 /* ... [REG_RSP] */
#define UC_RIP 168 /* ... [REG_RIP] */
/* The frame: what the handler may change of the ucontext, and saved registers. Above them are the
 * kernel's return address and the ucontext. */
#define OLD_RIP 0
#define OLD_RSP 8
#define UCONTEXT 64
#define NR_rt_sigreturn 15

	.text
	.p2align 4
	.globl	__pcce_signal_entry
	.hidden	__pcce_signal_entry
	.type	__pcce_signal_entry, @function
__pcce_signal_entry:
	.cfi_startproc
.Lenter:
	nopl	SIGNAL_ENTRY_MARK(%rax)
	.byte	0x0f, 0x1f, 0x80	/* nopl with a displacement: where the handlers are */
	.long	__pcce_signal_handlers - .Lenter
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	push	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r12, 0
	push	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r13, 0
	push	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %r14, 0
	sub	$24, %rsp
	.cfi_adjust_cfa_offset 24
	mov	UC_RIP(%rdx), %rax
	mov	%rax, OLD_RIP(%rsp)
	mov	UC_RSP(%rdx), %rax
	mov	%rax, OLD_RSP(%rsp)
	PAGE_OFFSET %rbx
	mov	%fs:PAGE_ID(%rbx), %r12
	mov	%fs:PAGE_EXT(%rbx), %r13
	mov	%fs:PAGE_OFF(%rbx), %r14	/* and place */
	test	$OFF_BAD, %r14d
	jnz	.Ldamaged
	mov	%r14d, %ecx
	and	$OFF_USED, %ecx
	cmp	$(OFF_FULL - 32), %ecx
	ja	.Lroom
.Lhas_room:
	mov	%fs:PAGE_OFF(%rbx), %ecx
	addl	$32, %fs:PAGE_OFF(%rbx)
	add	%rbx, %rcx
	mov	%r12, %fs:NEW_ID(%rcx)
	mov	$0xfff0000000000000, %rax	/* PCCE_COUNT_SIGNAL */
	or	UC_RIP(%rdx), %rax
	mov	%rax, %fs:NEW_ID+8(%rcx)
	mov	%r13, %fs:NEW_ID+16(%rcx)
	mov	UC_R11(%rdx), %rax
	shl	$16, %rax
	shr	$16, %rax
	mov	$0xfff1000000000000, %r8	/* PCCE_COUNT_SIGNAL2 */
	or	%r8, %rax
	mov	%rax, %fs:NEW_ID+24(%rcx)
.Lpushed:
	movq	$0, %fs:PAGE_EXT(%rbx)
	lea	__pcce_signal_handlers(%rip), %rax
	movslq	%edi, %rcx
	mov	(%rax, %rcx, 8), %rax
	movq	$0, %fs:PAGE_ID(%rbx)
.Lentered:
	call	*%rax
.Lleave:
	testl	$STATE_SHARED, %fs:PAGE_STATE(%rbx)
	jnz	.Lnear
	mov	%fs:PAGE_PLACE(%rbx), %eax
	shr	$PLACE_SHIFT, %eax
	mov	%r14, %rdi
	shr	$(32 + PLACE_SHIFT), %rdi
	cmp	%edi, %eax
	jne	.Lfar
	mov	%r14d, %fs:PAGE_OFF(%rbx)
.Lnear:
	mov	OLD_RIP(%rsp), %rdi
	mov	OLD_RSP(%rsp), %rsi
	mov	UCONTEXT + UC_RIP(%rsp), %rdx
	mov	UCONTEXT + UC_RSP(%rsp), %rcx
	cmp	%rdi, %rdx
	jne	.Lredirected
	cmp	%rsi, %rcx
	jne	.Lredirected
.Lknown:
	mov	%r13, %fs:PAGE_EXT(%rbx)
	mov	%r12, %fs:PAGE_ID(%rbx)
	.cfi_remember_state
	add	$24, %rsp
	.cfi_adjust_cfa_offset -24
	pop	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r14
	pop	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r13
	pop	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore %r12
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	mov	$NR_rt_sigreturn, %eax
	syscall
	ud2
.Lredirected:
	.cfi_restore_state
	movq	$EXT_CHANGING, %fs:PAGE_EXT(%rbx)
	call	__pcce_redirected
	jmp	.Lknown
.Lroom:
	testl	$STATE_SHARED, %fs:PAGE_STATE(%rbx)
	jnz	.Lpushed
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	push	%rdx
	.cfi_adjust_cfa_offset 8
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	$EXT_CHANGING, %fs:PAGE_EXT(%rbx)
	call	__pcce_segment_room
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rdx
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	.Lhas_room
.Lfar:
	movq	$EXT_CHANGING, %fs:PAGE_EXT(%rbx)
	mov	%r14, %rdi
	call	__pcce_segment_return
	jmp	.Lnear
.Ldamaged:
	mov	$0xc000000000000000, %r12	/* PCCE_ID_LOST */
	xor	%r13d, %r13d
	xor	%r14d, %r14d
	movq	$-1, %fs:NEW_ID(%rbx)
	mov	$KIND_UNKNOWN, %rax
	mov	%rax, %fs:NEW_ID+8(%rbx)
	mov	%r14, %fs:PAGE_OFF(%rbx)
	mov	%r14, %fs:PAGE_AREA(%rbx)
	mov	%r14, %fs:PAGE_JUMPS(%rbx)
	mov	%r14, %fs:PAGE_BASE(%rbx)
	mov	$0xffff000000000000, %rax	/* PCCE_MARK_WORD */
	mov	%rax, %fs:PAGE_BASE+8(%rbx)
	mov	$16, %r14d
	mov	%r14d, %fs:PAGE_OFF(%rbx)
	jmp	.Lhas_room
.Lend:
	.cfi_endproc
	.size	__pcce_signal_entry, . - __pcce_signal_entry

	/* struct pcce_table_helper[]: where the state is not decodable (PCCE_HELPER_HANDLER). */
	.section .pcce_helpers, "R", @progbits
	.quad	.Lenter
	.long	.Lentered - .Lenter, 5
	.quad	.Lleave
	.long	.Lend - .Lleave, 5

/* The program's handlers, by signal number. handler.c writes them. */
	.bss
	.p2align 5
	.globl __pcce_signal_handlers
	.hidden __pcce_signal_handlers
	.type __pcce_signal_handlers, @object
	.size __pcce_signal_handlers, 8 * SIGNAL_HANDLERS
__pcce_signal_handlers:
	.zero 8 * SIGNAL_HANDLERS

	.section .note.GNU-stack, "", @progbits
