/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Enters an instrumented function that was called as a leaf: a malloc of the program that strdup()
 * calls, or one that was preloaded.
 *
 * Its caller has named a site in ext, continues to use the id, and relies on neither changing. So
 * the function's entry slot (docs/slots.md) leads here if ext is not 0; %r11 says where to
 * continue. Both values go into two entries (include/pcce/abi.h, PCCE_COUNT_LEAF), and ext becomes
 * 0. The function runs in its own segment, and all is restored at its return. Only in this case a
 * frame of the runtime is between caller and callee. Functions with arguments on the stack cannot
 * have it.
 *
 * At each instruction the state means uninstrumented code, called by the site in ext. While ext is
 * 0, it is what the entries hold. Between the entries' claim and that, PCCE_HELPER_JUMPING says
 * that they do not count.
 *
 * All registers except r10 and r11 are kept, on the way in and out. A caller may rely on what the
 * function leaves alone (-fipa-ra). The way to another segment is C, compiled for general registers
 * only.
 */
#include "base/asm.h"

#define FRAME 24
#define ID 0
#define EXT 8
#define POSITION 16

	.text
	.p2align 4
	.globl __pcce_leaf
	.hidden __pcce_leaf
	.type __pcce_leaf, @function
__pcce_leaf:
	.cfi_startproc
	GROW FRAME
	SAVE rax
	SAVE rcx
	SAVE rdx
	PAGE_OFFSET %rax
	testl $STATE_SHARED, %fs:PAGE_STATE(%rax)
	jnz .Lshared
	movq %fs:PAGE_OFF(%rax), %rcx
	movq %rcx, 24 + POSITION(%rsp)
	andl $OFF_USED, %ecx
	cmpl $(OFF_FULL - 32), %ecx
	ja .Lroom
.Lhas_room:
	movq %fs:PAGE_ID(%rax), %rdx
	movq %rdx, 24 + ID(%rsp)
	movl %fs:PAGE_OFF(%rax), %ecx
	addl $32, %fs:PAGE_OFF(%rax)
.Lclaimed:
	movq %rdx, %fs:NEW_ID(%rax, %rcx)
	movabsq $KIND_LEAF, %rdx
	addq %fs:PAGE_EXT(%rax), %rdx
	movq %rdx, %fs:NEW_ID + 8(%rax, %rcx)
	movq $0, %fs:NEW_ID + 16(%rax, %rcx)
	movabsq $KIND_FILL, %rdx
	movq %rdx, %fs:NEW_ID + 24(%rax, %rcx)
	movq %fs:PAGE_EXT(%rax), %rdx
	movq %rdx, 24 + EXT(%rsp)
	movq $0, %fs:PAGE_EXT(%rax)
.Lfilled:
	UNSAVE rdx
	UNSAVE rcx
	UNSAVE rax
	notrack call *%r11

	SAVE rcx
	SAVE rsi
	SAVE rdi
	SAVE r8
.Lreturned:
	PAGE_OFFSET %rcx
	testl $STATE_SHARED, %fs:PAGE_STATE(%rcx)
	jnz .Lreleased
	movl %fs:PAGE_PLACE(%rcx), %esi
	shrl $PLACE_SHIFT, %esi
	movq 32 + POSITION(%rsp), %rdi
	movq %rdi, %r8
	shrq $(32 + PLACE_SHIFT), %r8
	cmpl %r8d, %esi
	jne .Lfar
	movq 32 + ID(%rsp), %rsi
	movq %rsi, %fs:PAGE_ID(%rcx)
	movq 32 + EXT(%rsp), %rsi
	movq %rsi, %fs:PAGE_EXT(%rcx)
.Lnamed:
	movl %edi, %fs:PAGE_OFF(%rcx)
.Lreleased:
	.cfi_remember_state
	UNSAVE r8
	UNSAVE rdi
	UNSAVE rsi
	UNSAVE rcx
	SHRINK FRAME
	ret
	.cfi_restore_state

	/* The entries are the first ones of the segment above. As soon as they have no meaning any
	 * more, all is as before the call, except that the upper segment is still current. A
	 * handler may delay that change. */
.Lfar:
	.cfi_remember_state
	SAVE rax
	SAVE rdx
	SAVE r9
	GROW 8
	movq 64 + POSITION(%rsp), %rdi
	call __pcce_segment_below
	PAGE_OFFSET %rcx
	testq %rax, %rax
	jz .Lsame
	movl %fs:PAGE_OFF(%rcx), %r8d
	movabsq $KIND_FILL, %r9
	movq 64 + ID(%rsp), %rsi
	movq %rsi, %fs:PAGE_ID(%rcx)
	movq 64 + EXT(%rsp), %rsi
	movq %rsi, %fs:PAGE_EXT(%rcx)
.Lexpired:
	movq %r9, %fs:TOP_SITE - 16(%rcx, %r8)
.Lempty:
	cmpxchgq %rdx, %fs:PAGE_OFF(%rcx)
	je .Lback
	movq 64 + POSITION(%rsp), %rdi
	call __pcce_segment_below
	PAGE_OFFSET %rcx
	testq %rax, %rax
	jnz .Lempty
	jmp .Lelsewhere
.Lback:
	.cfi_remember_state
	SHRINK 8
	UNSAVE r9
	UNSAVE rdx
	UNSAVE rax
	jmp .Lreleased
	.cfi_restore_state

.Lsame:
	testq %rdx, %rdx
	jz .Lelsewhere
	.cfi_remember_state
	SHRINK 8
	UNSAVE r9
	UNSAVE rdx
	UNSAVE rax
	jmp .Lreturned
	.cfi_restore_state
	/* The function has left its stack in another state than at its entry. */
.Lelsewhere:
	movq $EXT_CHANGING, %fs:PAGE_EXT(%rcx)
	movq 64 + POSITION(%rsp), %rdi
	call __pcce_segment_return
	PAGE_OFFSET %rcx
	movq 64 + ID(%rsp), %rsi
	movq %rsi, %fs:PAGE_ID(%rcx)
	movq 64 + EXT(%rsp), %rsi
	movq %rsi, %fs:PAGE_EXT(%rcx)
	jmp .Lback
	.cfi_restore_state

.Lroom:
	.cfi_adjust_cfa_offset 24 - 32
	.cfi_restore %r8
	.cfi_restore %rdi
	.cfi_restore %rsi
	.cfi_rel_offset %rax, 16
	.cfi_rel_offset %rcx, 8
	.cfi_rel_offset %rdx, 0
	SAVE rdi
	SAVE rsi
	SAVE r8
	SAVE r9
	SAVE r10
	SAVE r11
	GROW 8
	call __pcce_segment_room
	SHRINK 8
	UNSAVE r11
	UNSAVE r10
	UNSAVE r9
	UNSAVE r8
	UNSAVE rsi
	UNSAVE rdi
	PAGE_OFFSET %rax
	jmp .Lhas_room
	/* Another task has the page, too: nothing changes. */
.Lshared:
	UNSAVE rdx
	UNSAVE rcx
	UNSAVE rax
	SHRINK FRAME
	notrack jmp *%r11
	.cfi_endproc
	.size __pcce_leaf, . - __pcce_leaf

	RANGE .Lclaimed, .Lfilled, JUMPING
	RANGE .Lnamed, .Lreleased, JUMPING
	RANGE .Lexpired, .Lempty, JUMPING

	.section .note.GNU-stack, "", @progbits
