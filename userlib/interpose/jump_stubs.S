/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Interposes setjmp and longjmp. jump.c keeps the states.
 *
 * A setjmp records the page's state. Then it jumps to the real one with all that matters unchanged:
 * the arguments, the stack pointer and the return address.
 *
 * A longjmp to a setjmp of instrumented code pushes a record of the future state on the encoding
 * stack (include/pcce/abi.h, PCCE_COUNT_JUMP). It names the setjmp's site in ext. Nothing else
 * changes. In this file and in libc the decoder uses what is below the record; where the jump ends
 * it uses the record, until __pcce_restore has established the same state. The state is known at
 * every instruction: one instruction claims the record, and PCCE_HELPER_JUMPING marks the code that
 * fills it. Static programs have no such stubs; there the state is stale from the jump's end up to
 * __pcce_restore.
 *
 * A longjmp to a setjmp of other code, which has no __pcce_restore, must restore the state by
 * itself. The rest of the jump then runs in the state of the code that it jumps to.
 */
#include <cet.h>
#include "base/asm.h"

#define JUMP_RECORD 1
#define JUMP_DIRECT 2

.macro GO_ON number
	movq __pcce_jump_real + 8 * \number(%rip), %rax
	testq %rax, %rax
	jnz 1f
	SAVE rdi
	SAVE rsi
	GROW 8
	movl $\number, %edi
	call __pcce_jump_resolve
	SHRINK 8
	UNSAVE rsi
	UNSAVE rdi
1:	jmp *%rax
.endm

.macro STUB name, number, work
	OWN \name
	.cfi_startproc
	_CET_ENDBR
	GROW 8
	call \work
	SHRINK 8
	GO_ON \number
	.cfi_endproc
	.size \name, . - \name
.endm

	.text
	.globl __pcce_jump
	.hidden __pcce_jump
__pcce_jump:

	STUB _setjmp, 0, keep
	STUB setjmp, 1, keep
	STUB __sigsetjmp, 2, keep
	STUB longjmp, 3, announce
	STUB _longjmp, 4, announce
	STUB siglongjmp, 5, announce
	STUB __longjmp_chk, 6, announce

/* Called by a setjmp's stub. Above it on the stack are its return address, 8 bytes, and the
 * setjmp's return address. */
	.p2align 4
	.type keep, @function
keep:
	.cfi_startproc
	SAVE rdi
	SAVE rsi
	GROW 8
	leaq 48(%rsp), %rdi	/* the stack pointer after the return */
	movq 40(%rsp), %rsi
	call __pcce_jump_keep
	SHRINK 8
	UNSAVE rsi
	UNSAVE rdi
	ret
	.cfi_endproc
	.size keep, . - keep

	.p2align 4
	.type announce, @function
announce:
	.cfi_startproc
	SAVE rdi
	SAVE rsi
	GROW 56
	movq %rsp, %rsi
	call __pcce_jump_find
	cmpl $JUMP_RECORD, %eax
	jne 1f
	movl %eax, 48(%rsp)
	call __pcce_segment_room
	movl 48(%rsp), %eax
1:
	movq (%rsp), %r8	/* id */
	movq 8(%rsp), %rdx	/* ext */
	movq 16(%rsp), %r10	/* the top entry's site word */
	movq 24(%rsp), %r9	/* its id */
	movq 32(%rsp), %rcx	/* position */
	SHRINK 56
	UNSAVE rsi
	UNSAVE rdi
	PAGE_OFFSET %r11
	cmpl $JUMP_DIRECT, %eax
	je .Ldirect
	cmpl $JUMP_RECORD, %eax
	jne .Ldone

	/* off and the number, in 48 bits */
	movq %rcx, %rax
	shrq $32 + PLACE_SHIFT, %rax
	shlq $16, %rax
	movzwl %cx, %ecx
	orq %rax, %rcx
	movq $KIND_JUMP, %rax
	orq %rax, %rcx
	movq $KIND_JUMP2, %r9
	orq %rdx, %r9
	movl %fs:PAGE_OFF(%r11), %eax
	addl $32, %fs:PAGE_OFF(%r11)
.Lclaimed:
	addq %r11, %rax
	movq %r8, %fs:NEW_ID(%rax)
	movq %rcx, %fs:NEW_ID + 8(%rax)
	movq %r10, %fs:NEW_ID + 16(%rax)
	movq %r9, %fs:NEW_ID + 24(%rax)
.Lfilled:
	movq %rdx, %fs:PAGE_EXT(%r11)
.Ldone:
	ret

.Ldirect:
	/* Is the segment's number the same? What the other half holds does not matter. */
	movq %rcx, %rax
	shrq $32 + PLACE_SHIFT, %rax
	shll $PLACE_SHIFT, %eax
	xorl %fs:PAGE_PLACE(%r11), %eax
	shrl $PLACE_SHIFT, %eax
	jnz .Ldirect_far
.Ldirect_near:
	movl %ecx, %ecx
	testl $OFF_USED, %ecx
	jz .Ldirect_off
	movq %r9, %fs:TOP_ID(%r11, %rcx)
.Ldirect_begun:
	movq %r10, %fs:TOP_SITE(%r11, %rcx)
.Ldirect_off:
	movl %ecx, %fs:PAGE_OFF(%r11)
	movq %r8, %fs:PAGE_ID(%r11)
	movq %rdx, %fs:PAGE_EXT(%r11)
.Ldirect_done:
	ret
	/* From another segment: not decodable meanwhile. */
.Ldirect_far:
	SAVE rdi
	SAVE rsi
	SAVE r8
	SAVE rdx
	SAVE r10
	SAVE r9
	SAVE rcx
	movq $EXT_CHANGING, %fs:PAGE_EXT(%r11)
	movq %rcx, %rdi
	call __pcce_segment_return
	UNSAVE rcx
	UNSAVE r9
	UNSAVE r10
	UNSAVE rdx
	UNSAVE r8
	UNSAVE rsi
	UNSAVE rdi
	PAGE_OFFSET %r11
	jmp .Ldirect_near
	.cfi_endproc
	.size announce, . - announce

	RANGE .Lclaimed, .Lfilled, JUMPING
	RANGE .Ldirect_begun, .Ldirect_done, RESTORING

	.section .note.GNU-stack, "", @progbits
