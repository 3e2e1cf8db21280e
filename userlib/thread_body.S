/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * void *__pcce_thread_body(void *(*routine)(void *), void *arg, const struct thread_unwind *libc):
 * a thread's start routine, and what remains of the thread when that was left by pthread_exit() or
 * cancellation.
 *
 * Such an end unwinds the stack: clean-up code of instrumented functions restores the state as it goes by, but the last
 * of them leaves its own behind, and destructors of thread-specific data would seem to be called from there. So
 * this frame is among those that the C library stops at: it registers a clean-up handler, as pthread_cleanup_push() does in
 * C, and empties the encoding stack when the jump has come here. At the setjmp's return, both times, the state
 * is said to be not decodable; at the first there is nothing to lose.
 *
 * setjmp is libc's own and not ours (jump_stubs.S), which keeps states for functions that are there longer.
 */
#include <cet.h>
#include "asm.h"


/* struct thread_unwind, in interpose_thread.c */
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
