/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Interposes getcontext, setcontext, swapcontext and makecontext, and holds the code where contexts
 * begin.
 *
 * ucontext.c describes how this works, and moves the states. The stubs jump to the real functions
 * with everything that these save unchanged: the stack pointer, the return address, and the
 * registers that calls preserve.
 */
#include <cet.h>
#include "base/asm.h"

/* The stub has saved rdi and rsi. */
.macro GO_ON number
	movq __pcce_context_real + 8 * \number(%rip), %rax
	testq %rax, %rax
	jnz 1f
	GROW 8
	movl $\number, %edi
	call __pcce_context_resolve
	SHRINK 8
1:	UNSAVE rsi
	UNSAVE rdi
	jmp *%rax
	.cfi_endproc
.endm

.macro BEGIN name
	OWN \name
	.cfi_startproc
	_CET_ENDBR
	SAVE rdi
	SAVE rsi
.endm

	.text
	BEGIN getcontext
	leaq 24(%rsp), %rsi	/* the stack pointer after the return */
	movq 16(%rsp), %rdx
	GROW 8
	call __pcce_context_get
	SHRINK 8
	GO_ON 0
	.size getcontext, . - getcontext

	BEGIN setcontext
	GROW 8
	leaq .Lentries(%rip), %rsi
	call __pcce_context_enter
	SHRINK 8
	movq %rax, 8(%rsp)
	GO_ON 1
	.size setcontext, . - setcontext

	BEGIN swapcontext
	leaq 24(%rsp), %rdx
	movq 16(%rsp), %rcx
	GROW 8
	leaq .Lentries(%rip), %r8
	call __pcce_context_swap
	SHRINK 8
	movq %rax, (%rsp)
	GO_ON 2
	.size swapcontext, . - swapcontext

/* The arguments of the function stay where they are, in registers and on the stack. */
	OWN makecontext
	.cfi_startproc
	_CET_ENDBR
	SAVE rdx
	SAVE rcx
	SAVE r8
	SAVE r9
	SAVE rdi
	SAVE rsi
	GROW 8
	leaq .Lentries(%rip), %rsi
	call __pcce_context_made
	movq __pcce_context_real + 24(%rip), %rax
	testq %rax, %rax
	jnz 1f
	movl $3, %edi
	call __pcce_context_resolve
1:	SHRINK 8
	UNSAVE rsi
	UNSAVE rdi
	UNSAVE r9
	UNSAVE r8
	UNSAVE rcx
	UNSAVE rdx
	movq %rax, %r11
	xorl %eax, %eax
	jmp *%r11
	.cfi_endproc
	.size makecontext, . - makecontext

/* Enters a context that was saved. rdi is its record, which begins with the address where it
 * continues. The stack has room for a return address, as if the function that saved the state were
 * about to return. */
	.p2align 4
	.type __pcce_context_landed, @function
__pcce_context_landed:
	.cfi_startproc
	_CET_ENDBR
	movq (%rdi), %rax
	movq %rax, (%rsp)
	GROW 8
	call __pcce_context_load
	SHRINK 8
	xorl %eax, %eax
	ret
	.cfi_endproc
	.size __pcce_context_landed, . - __pcce_context_landed

/* Enters a context that was made. r12 is its function. */
	.p2align 4
	.type __pcce_context_start, @function
__pcce_context_start:
	.cfi_startproc
	_CET_ENDBR
	CALL_KEEPING_ARGUMENTS __pcce_context_begin
	jmp *%r12
	.cfi_endproc
	.size __pcce_context_start, . - __pcce_context_start

/* Where that function returns to. Continues in the C library, which finds at rbx what to enter
 * next. A debugger and an unwinder stop here. */
	.p2align 4
	.cfi_startproc
	.cfi_undefined %rip
	nop
	.type __pcce_context_end, @function
__pcce_context_end:
	_CET_ENDBR
	movq (%rbx), %rdi
	movq %rsp, %r12
	andq $-16, %rsp
	leaq .Lentries(%rip), %rsi
	call __pcce_context_leave
	movq %r12, %rsp
	movq %rax, (%rbx)
	jmp *__pcce_context_libc_end(%rip)
	.cfi_endproc
	.size __pcce_context_end, . - __pcce_context_end

/* struct context_entries (ucontext.c) */
	.section .data.rel.ro.local, "aw", @progbits
	.p2align 3
.Lentries:
	.quad __pcce_context_landed
	.quad __pcce_context_start
	.quad __pcce_context_end

	.section .note.GNU-stack, "", @progbits
