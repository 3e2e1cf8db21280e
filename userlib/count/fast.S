/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counts an entry into a function in the fast way: with a counter that the thread has used
 * recently (struct recent). count_missed() and count_hot_missed() do all else.
 *
 * The counter is the right one if place, id and ext are its own, and its node is that of the stack:
 * the node has the newest entry, and its parent is what the shadow has one entry below.
 *
 * A handler may come at any instruction, and change what is remembered. Its stack has another
 * position, or if it has changed to another stack, the page names no thread then. So both are
 * compared last. If a handler has forked, all is zeros in the child, and there is no counter or no
 * shadow.
 *
 * r11 is the number of the place, and does not change.
 */
#include "base/asm.h"
#include "count/engine.h"

/* clang-format off */

.macro SAVE_REGISTERS
	pushq %rax
	pushq %rcx
	pushq %rdx
	pushq %rsi
	pushq %rdi
	pushq %r8
.endm

.macro RESTORE_REGISTERS
	popq %r8
	popq %rdi
	popq %rsi
	popq %rdx
	popq %rcx
	popq %rax
.endm

/* rcx: the offset of the thread page from %fs. rdx: the thread, which has counted on this stack. */
.macro FIND_THREAD otherwise
	movq config + CONFIG_TPOFF(%rip), %rcx
	movq %fs:PAGE_COUNTING(%rcx), %rdx
	testq %rdx, %rdx
	jz \otherwise
.endm

/* Goes to `otherwise` unless a field of the page (base: rcx, or rcx + off) equals memory. */
.macro SAME field, base, memory, register, otherwise
	movq %fs:\field(\base), \register
	cmpq \memory, \register
	jne \otherwise
.endm

/* As recent_place(). rdi: the struct recent. rsi: rcx + off. Changes rax. */
.macro FIND_RECENT
	movl %fs:PAGE_OFF(%rcx), %esi
	imull $HASH_PLACE, %r11d, %eax
	addl %fs:PAGE_ID(%rcx), %eax
	leal (%rax, %rax, 4), %eax
	addl %esi, %eax
	addq %rcx, %rsi
	addl %fs:TOP_ID(%rsi), %eax
	addl %fs:TOP_SITE(%rsi), %eax
	imull $HASH_RECENT, %eax, %eax
	shrl $HASH_SHIFT, %eax
	andl THREAD_RECENT_MASK(%rdx), %eax
	addq THREAD_RECENT(%rdx), %rax
	leaq (%rdx, %rax), %rdi
.endm

/* r8: the counter. rax: its node, if it is that of the stack. rsi: the place in the shadow. Changes
 * rcx. */
.macro FIND_COUNTER otherwise
	movq RECENT_COUNTER(%rdi), %r8
	testq %r8, %r8
	jz \otherwise
	cmpl %r11d, COUNTER_PLACE(%r8)
	jne \otherwise
	SAME PAGE_ID, %rcx, COUNTER_ID(%r8), %rax, \otherwise
	SAME PAGE_EXT, %rcx, COUNTER_EXT(%r8), %rax, \otherwise
	movl COUNTER_NODE(%r8), %eax
	shlq $5, %rax
	addq config + CONFIG_AREA(%rip), %rax
	SAME TOP_SITE, %rsi, NODE_SITE(%rax), %rcx, \otherwise
	SAME TOP_ID, %rsi, NODE_ID(%rax), %rcx, \otherwise
	movq THREAD_AT(%rdx), %rsi
	testq %rsi, %rsi
	jz \otherwise
	addq RECENT_DEPTH(%rdi), %rsi
	movq -8(%rsi), %rcx
	cmpq %rcx, NODE_PARENT(%rax)
	jne \otherwise
	movq config + CONFIG_TPOFF(%rip), %rcx
	cmpq %rdx, %fs:PAGE_COUNTING(%rcx)
	jne \otherwise
	SAME PAGE_OFF, %rcx, RECENT_POSITION(%rdi), %rcx, \otherwise /* and place */
.endm

	.text
	.p2align 6
	.globl count
	.type count, @function
count:
	SAVE_REGISTERS
	FIND_THREAD 3f
	FIND_RECENT
	FIND_COUNTER 3f
	cmpq %rax, (%rsi)
	jne 2f
1:	incq COUNTER_COUNT(%r8)
	RESTORE_REGISTERS
	ret

	/* Only the newest entry has changed, if what is below may be trusted. A handler may make a
	 * larger shadow, and then this was the smaller one. */
2:	cmpl $0, THREAD_TRUSTED(%rdx)
	je 3f
	movq %rax, (%rsi)
	subq RECENT_DEPTH(%rdi), %rsi
	cmpq %rsi, THREAD_AT(%rdx)
	je 1b

3:	RESTORE_REGISTERS
	jmp count_missed
	.size count, . - count

	/* The thread is busy meanwhile: see hot.c. */
	.p2align 6
	.globl count_hot
	.type count_hot, @function
count_hot:
	SAVE_REGISTERS
	FIND_THREAD 5f
	testb $3, THREAD_STATE(%rdx)
	jnz 5f
	movq %fs:PAGE_OFF(%rcx), %rax /* and place */
	incq %rax
	movq %rax, THREAD_STATE(%rdx)
	/* A handler may have counted on another stack before that. */
	cmpq %rdx, %fs:PAGE_COUNTING(%rcx)
	jne 4f
	FIND_RECENT
	FIND_COUNTER 4f
	movq (%rsi), %rcx
	cmpq %rax, %rcx
	jne 2f
1:	incq COUNTER_COUNT(%r8)
	decl THREAD_STATE(%rdx)
	testb $3, THREAD_STATE(%rdx)
	jnz 3f
	RESTORE_REGISTERS
	ret

	/* Only the newest entry has changed. As name_node(), unless rcx, the node before, becomes
	 * free. If a handler jumps away meanwhile, one of the two never does. */
2:	jrcxz 4f
	movq config + CONFIG_AREA(%rip), %rdi
	addq $AREA_ROOT, %rdi
	cmpq %rdi, %rcx
	je 4f
	cmpq $1, NODE_USES(%rcx)
	je 4f
	cmpl $0, THREAD_TRUSTED(%rdx)
	je 4f
	incq NODE_USES(%rax)
	movq %rax, (%rsi)
	decq NODE_USES(%rcx)
	jmp 1b

3:	movq %rdx, %rdi
	call end_after_inner
	RESTORE_REGISTERS
	ret

4:	decl THREAD_STATE(%rdx)
	testb $3, THREAD_STATE(%rdx)
	jz 5f
	movq %rdx, %rdi
	call end_after_inner
5:	RESTORE_REGISTERS
	jmp count_hot_missed
	.size count_hot, . - count_hot
	.section .note.GNU-stack, "", @progbits
