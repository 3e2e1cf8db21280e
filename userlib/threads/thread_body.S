/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Runs a thread's start routine, and empties the encoding stack when pthread_exit() or cancellation
 * has left the routine.
 *
 * void *__pcce_thread_body(void *(*routine)(void *), void *arg, const struct thread_unwind *libc);
 *
 * Such an end unwinds the stack. Clean-up code of instrumented functions restores the state on the
 * way, but the last one leaves its own state behind. Destructors of thread-specific data would then
 * seem to be called from there. So this frame is among those at which the C library stops. It
 * registers a clean-up handler, as pthread_cleanup_push() does in C, and empties the encoding stack
 * when the jump arrives here. At both returns of the setjmp the state is marked as not decodable;
 * at the first there is nothing to lose.
 *
 * setjmp is libc's own and not that of jump_stubs.S, which keeps states for functions that exist
 * longer.
 */
#include <cet.h>
#include "base/asm.h"

/* struct thread_unwind, in thread_create.c */
#define REAL_SETJMP 0
#define REGISTER 8
#define UNREGISTER 16
#define NEXT 24

/* The frame: __pthread_unwind_buf_t, then these. */
#define ROUTINE 104
#define ARG 112
#define FRAME 144

	.text
	.p2align 4
	.globl	__pcce_thread_body
	.hidden	__pcce_thread_body
	.type	__pcce_thread_body, @function
__pcce_thread_body:
	.cfi_startproc
	_CET_ENDBR
	SAVE rbx
	subq $FRAME, %rsp
	.cfi_adjust_cfa_offset FRAME
	movq %rdx, %rbx
	movq %rdi, ROUTINE(%rsp)
	movq %rsi, ARG(%rsp)
	movq %rsp, %rdi
	xorl %esi, %esi
	call *REAL_SETJMP(%rbx)
.Lreturned:
	_CET_ENDBR
	testl %eax, %eax
	jnz .Lunwound
.Lfirst:
	movq %rsp, %rdi
	call *REGISTER(%rbx)
	movq ARG(%rsp), %rdi
	call *ROUTINE(%rsp)
	movq %rax, ROUTINE(%rsp)
	movq %rsp, %rdi
	call *UNREGISTER(%rbx)
	movq ROUTINE(%rsp), %rax
	.cfi_remember_state
	addq $FRAME, %rsp
	.cfi_adjust_cfa_offset -FRAME
	UNSAVE rbx
	ret
	.cfi_restore_state
.Lunwound:
	PAGE_OFFSET %rax
	EMPTY_STACK rax, rcx
	movq %rsp, %rdi
	call *NEXT(%rbx)
.Lend:
	ud2
	.cfi_endproc
	.size __pcce_thread_body, . - __pcce_thread_body

	RANGE .Lreturned, .Lfirst, RESTORING
	RANGE .Lunwound, .Lend, RESTORING

	.section .note.GNU-stack, "", @progbits
