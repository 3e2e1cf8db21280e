/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* How stubs enter latency.c. r11 does not change there. */
#include "base/asm.h"
#include "count/engine.h"

#define PCCE_COUNT_END_RETURN 11 /* as in counting.h */

/* clang-format off */

.macro CALL_KEEPING function, sp
	pushq %rax
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %r8
	pushq %r9
	pushq %r10
	leaq \sp(%rsp), %rdi
	movq 64(%rsp), %rsi
	subq $PCCE_COUNT_END_RETURN, %rsi /* the stub of an after-slot */
	call \function
	popq %r10
	popq %r9
	popq %r8
	popq %rdi
	popq %rsi
	popq %rdx
	popq %rcx
	popq %rax
	ret
.endm

	.text
	/* Above the return address is that of the function. */
	.p2align 6
	.globl latency_begin
	.type latency_begin, @function
latency_begin:
	CALL_KEEPING begin_latency, 72
	.size latency_begin, . - latency_begin

	/* The call's return address was where that of the stub is now. Most calls that come here
	 * are not timed, or the newest open call is one of their callers. */
	.p2align 6
	.globl latency_end
	.type latency_end, @function
latency_end:
	movq config + CONFIG_TPOFF(%rip), %r10
	movq %fs:PAGE_COUNTING(%r10), %r10
	testq %r10, %r10
	jz 1f
	movq THREAD_OPEN(%r10), %r10
	testq %r10, %r10
	jz 1f
	cmpq %rsp, OPEN_SP(%r10)
	ja 1f
	jmp latency_ended
1:	ret
	.size latency_end, . - latency_end

	.type latency_ended, @function
latency_ended:
	CALL_KEEPING end_latency, 64
	.size latency_ended, . - latency_ended

	/* The call of __pcce_restore leads to the stub, so its return address is above. */
	.globl latency_jump
	.type latency_jump, @function
latency_jump:
	CALL_KEEPING jump_latency, 80
	.size latency_jump, . - latency_jump
	.section .note.GNU-stack, "", @progbits
