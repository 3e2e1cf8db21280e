/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Holds the helpers that slots call: push, pop, and the restoration after a non-local jump.
 *
 * docs/slots.md says how they are entered, include/pcce/abi.h what they do to the page, and
 * include/pcce/table.h what an instruction pointer in this file means.
 *
 * The same source serves executables (libpcce.a) and shared libraries (libpcce_dso.a, libpcce.so):
 * see page_offset.h. All symbols are hidden, so each module has its own copy, and a slot reaches it
 * with a plain near call.
 *
 * Every instruction here obeys three rules:
 *
 *  1. A sampler may interrupt any instruction, and the address alone tells which steps have been
 *     done. RANGE() gives each stretch of code its meaning. The stretches cover all bytes from
 *     __pcce_text to __pcce_ranges_end. In all of them %r11 holds the key (push) or the slot's end
 *     (pop).
 *  2. A signal handler that pushes and pops may interrupt any instruction. It leaves off and the
 *     live entries as they were, but overwrites what is above them. So a push claims the entry and
 *     then fills it; a pop restores the id and then releases the entry.
 *  3. All registers except %r10 keep their values, and the 16 bytes at -128(%rsp) of the caller
 *     stay untouched. So at most 14 words may be pushed here. Flags are free.
 *
 * A push onto a full segment and a pop from an empty one first go to another segment. The current
 * segment changes in one store, and means the same stack before and after. So this is repeatable,
 * and the state remains that of the helper's beginning. Between two segments that are both in the
 * page it takes a few instructions here. All else is in C (segments.c), which cannot keep %r11; ext
 * names the slot instead.
 *
 * An inline pop on an empty stack (a bug, or coroutines that move between threads) would make off
 * negative. The count in the base leads such a pop to __pcce_pop_slow, where the id becomes
 * PCCE_ID_LOST and nothing else happens.
 *
 * If another task shares the page (PCCE_STATE_SHARED), nothing is pushed or popped. If tasks share
 * it without the runtime's knowledge, off may have any value, so each use checks it first. What is
 * found on top may be a special entry that no call of the program has pushed; see unknown.c.
 */
#include <cet.h>
#include "base/asm.h"

/* As in abi.h; tests/runtime/test_pushpop.c fails if they differ. */
#define COUNT_MAX 0xffef
#define ID_LOST 0xc000000000000000

.macro FUNCTION name
	.globl \name
	.hidden \name
	.type \name, @function
\name:
	.cfi_startproc
.endm

.macro ENDFUNCTION name
	.cfi_endproc
	.size \name, . - \name
.endm

	.text
	.p2align 4
	.globl __pcce_text
	.hidden __pcce_text
__pcce_text:

/* A field of the page, or of the entry whose offset is in r10. An executable knows where its page
 * is. */
#ifdef PCCE_EXEC
#define PAGE(field) %fs:pcce_page@tpoff + field
#define ENTRY(field) %fs:pcce_page@tpoff + field(%r10)
.macro PAGE_BEGIN
.endm
.macro PAGE_END
.endm
.macro PAGE_MORE
	SAVE rax
	SAVE rcx
	SAVE rdx
	PAGE_OFFSET %rax
.endm
#else
#define PAGE(field) %fs:field(%rax)
#define ENTRY(field) %fs:field(%rax, %r10)
.macro PAGE_BEGIN
	SAVE rax
	PAGE_OFFSET %rax
.endm
.macro PAGE_END
	UNSAVE rax
.endm
.macro PAGE_MORE
	SAVE rcx
	SAVE rdx
.endm
#endif

/*
 * Most pushes find room in the segment, and do no more than a push in a slot. Without room, an
 * entry that would equal the top one is counted there.
 *
 * ext is 0 when a slot pushes, and when an uninstrumented callee returns. If it is not, because a
 * function that was called as a leaf pushes, it stays: samples remain marked.
 *
 * Registers on the longer paths: rax is the page's offset from %fs, rcx is off, rdx is scratch or
 * the id.
 */
	FUNCTION __pcce_push
	PAGE_BEGIN
	movl PAGE(PAGE_OFF), %r10d
	testl $OFF_SLOW, %r10d
	jnz .Lpush_more
	addl $16, PAGE(PAGE_OFF)
.Lpush_room:
	movq %r11, ENTRY(NEW_SITE)
	pushq PAGE(PAGE_ID)
	.cfi_adjust_cfa_offset 8
	popq ENTRY(NEW_ID)
	.cfi_adjust_cfa_offset -8
	movq $0, PAGE(PAGE_ID)
.Lpush_filled:
	.cfi_remember_state
	PAGE_END
	ret
	.cfi_restore_state

.Lpush_more:
	PAGE_MORE
	testl $STATE_SHARED, %fs:PAGE_STATE(%rax)
	jnz .Lpush_pushed
.Lpush_again:
	movl %fs:PAGE_OFF(%rax), %ecx
	movl %ecx, %edx
	andl $~OFF_HALF, %edx
	cmpl $OFF_FULL, %edx
	ja .Lpush_bad
	movq %fs:PAGE_ID(%rax), %rdx
	cmpq %fs:TOP_ID(%rax, %rcx), %rdx
	je .Lpush_repeated
.Lpush_new:
	testl $OFF_FULL, %ecx
	jnz .Lpush_full
	addl $16, %fs:PAGE_OFF(%rax)
.Lpush_claimed:
	movq %r11, %fs:NEW_SITE(%rax, %rcx)
	movq %rdx, %fs:NEW_ID(%rax, %rcx)
.Lpush_done:
	movq $0, %fs:PAGE_ID(%rax)
.Lpush_pushed:
	.cfi_remember_state
	UNSAVE rdx
	UNSAVE rcx
	UNSAVE rax
	ret
	.cfi_restore_state
.Lpush_repeated_start:

	/* The id equals the top entry's. If the site is also the same, and its count not exhausted,
	 * the low 16 bits of the rotated difference are the count. All other bits are 0. One
	 * instruction claims and fills.
	 *
	 * A segment without a place in the area comes back without its counts (fill_lost()). Pops
	 * would then take entries of the segments below. So nothing is counted there. A shift takes
	 * the low five bits of cl, which are the logarithm of the number of places. */
.Lpush_repeated:
	movl %ecx, %r10d
	movl %fs:PAGE_AREA(%rax), %ecx
	movl %fs:PAGE_PLACE(%rax), %edx
	shrl $PLACE_SHIFT, %edx
	shrl %cl, %edx
	movl %r10d, %ecx
	jnz .Lpush_differs
	movq %fs:TOP_SITE(%rax, %rcx), %rdx
	xorq %r11, %rdx
	rolq $16, %rdx
	cmpq $COUNT_MAX, %rdx
	jae .Lpush_differs
	incw %fs:TOP_COUNT(%rax, %rcx)
.Lpush_counted:
	movq $0, %fs:PAGE_ID(%rax)
	jmp .Lpush_pushed
.Lpush_differs:
	movq %fs:PAGE_ID(%rax), %rdx
	jmp .Lpush_new

	/* As __pcce_segment_up(), if the other half holds nothing, the next segment has a place,
	 * and the thread has given a generation before. */
.Lpush_full:
	movl %fs:PAGE_PLACE(%rax), %edx
	testl $PLACE_HELD, %edx
	jnz .Lpush_far
	shrl $PLACE_SHIFT, %edx
	incl %edx
	movl %edx, %r10d
	movl %fs:PAGE_AREA(%rax), %ecx
	shrl %cl, %edx
	jnz .Lpush_far
	cmpq $0, %fs:PAGE_GENERATION(%rax)
	je .Lpush_far
	movl $1, %edx
	xaddq %rdx, %fs:PAGE_GENERATION(%rax)
	incq %rdx
	movl %fs:PAGE_OFF(%rax), %ecx
	notl %ecx
	andl $OFF_HALF, %ecx
	movq %rdx, %fs:PAGE_BASE(%rax, %rcx)
	movabsq $MARK_WORD, %rdx
	movq %rdx, %fs:PAGE_BASE + 8(%rax, %rcx)
	leal PLACE_KEPT(, %r10, 1 << PLACE_SHIFT), %edx
	shlq $32, %rdx
	orq %rcx, %rdx
	movq %rdx, %fs:PAGE_OFF(%rax)
	movq %fs:PAGE_ID(%rax), %rdx
	jmp .Lpush_new
.Lpush_far:
	movq %r11, %fs:PAGE_EXT(%rax)
	jmp __pcce_up_detour
.Lpush_higher:
	movq $0, %fs:PAGE_EXT(%rax)
	jmp .Lpush_again
	/* An impossible off: begin again with a stack of which nothing is known, and do not write
	 * outside the page. */
.Lpush_bad:
	movq $0, %fs:PAGE_OFF(%rax)
	movq $0, %fs:PAGE_BASE(%rax)
	movabsq $MARK_WORD, %rdx
	movq %rdx, %fs:PAGE_BASE + 8(%rax)
	movq $-1, %fs:NEW_ID(%rax)
	movabsq $KIND_UNKNOWN, %rdx
	movq %rdx, %fs:NEW_SITE(%rax)
	movl $16, %fs:PAGE_OFF(%rax)
	jmp .Lpush_again
	ENDFUNCTION __pcce_push
.Lpush_end:

	RANGE __pcce_push, .Lpush_room, NOTHING
	RANGE .Lpush_room, .Lpush_filled, CLAIMED
	RANGE .Lpush_filled, .Lpush_more, PUSHED
	RANGE .Lpush_more, .Lpush_claimed, NOTHING
	RANGE .Lpush_claimed, .Lpush_pushed, CLAIMED
	RANGE .Lpush_pushed, .Lpush_repeated_start, PUSHED
	RANGE .Lpush_repeated_start, .Lpush_counted, NOTHING
	RANGE .Lpush_counted, .Lpush_differs, PUSHED
	RANGE .Lpush_differs, .Lpush_end, NOTHING

/*
 * The inverse of a push. It sets the id first, which is harmless to repeat while the top entry is
 * there. Then one instruction releases the entry.
 */
	FUNCTION __pcce_pop
	PAGE_BEGIN
	movslq PAGE(PAGE_OFF), %r10
	cmpw $0, ENTRY(TOP_COUNT)
	jne .Lpop_more
	movq ENTRY(TOP_ID), %r10
	movq %r10, PAGE(PAGE_ID)
	subl $16, PAGE(PAGE_OFF)
.Lpop_gone:
	.cfi_remember_state
	PAGE_END
	ret
	.cfi_restore_state

.Lpop_more:
	PAGE_MORE
	testl $STATE_SHARED, %fs:PAGE_STATE(%rax)
	jnz .Lpop_unknown
.Lpop_again:
	movl %fs:PAGE_OFF(%rax), %ecx
	movl %ecx, %edx
	andl $~OFF_HALF, %edx
	jz .Lpop_bottom
	cmpl $OFF_FULL, %edx
	ja .Lpop_empty
	cmpw $COUNT_MAX, %fs:TOP_COUNT(%rax, %rcx)
	ja .Lpop_special
	movq %fs:TOP_ID(%rax, %rcx), %rdx
	movq %rdx, %fs:PAGE_ID(%rax)
	cmpw $0, %fs:TOP_COUNT(%rax, %rcx)
	jne .Lpop_repeated
	subl $16, %fs:PAGE_OFF(%rax)
.Lpop_released:
	.cfi_remember_state
	UNSAVE rdx
	UNSAVE rcx
	UNSAVE rax
	ret
	.cfi_restore_state
.Lpop_repeated:
	decw %fs:TOP_COUNT(%rax, %rcx)
.Lpop_uncounted:
	jmp .Lpop_released

.Lpop_bottom:
	cmpl $1 << PLACE_SHIFT, %fs:PAGE_PLACE(%rax)
	jb .Lpop_empty
	/* As __pcce_segment_down(), if the other half keeps the segment below. */
	movq %fs:PAGE_OFF(%rax), %rdx
	movq %rdx, %rcx
	shrq $32, %rcx
	movl %ecx, %r10d
	andl $PLACE_HELD, %r10d
	cmpl $PLACE_KEPT, %r10d
	jne .Lpop_far
	subl $(1 << PLACE_SHIFT | PLACE_KEPT), %ecx
	shlq $32, %rcx
	movl %edx, %r10d
	notl %r10d
	andl $OFF_HALF, %r10d
	orl $OFF_FULL, %r10d
	orq %r10, %rcx
	movq %rax, %r10
	movq %rdx, %rax
	cmpxchgq %rcx, %fs:PAGE_OFF(%r10)
	movq %r10, %rax
	jmp .Lpop_again
.Lpop_far:
	movq %r11, %fs:PAGE_EXT(%rax)
	jmp __pcce_down_detour
.Lpop_lower:
	movq $0, %fs:PAGE_EXT(%rax)
	jmp .Lpop_again

	/* No call has pushed the top entry. */
.Lpop_special:
	cmpw $COUNT_FILL, %fs:TOP_COUNT(%rax, %rcx)
	jne .Lpop_other
	subl $16, %fs:PAGE_OFF(%rax)
	jmp .Lpop_again
.Lpop_other:
	cmpw $COUNT_UNKNOWN, %fs:TOP_COUNT(%rax, %rcx)
	jb .Lpop_empty
.Lpop_unknown:
	movq %r11, %fs:PAGE_EXT(%rax)
	jmp __pcce_unknown_detour
.Lpop_judged:
	movq $0, %fs:PAGE_EXT(%rax)
	testb %r10b, %r10b
	jnz .Lpop_again

.Lpop_empty:
	movabsq $ID_LOST, %rdx
	movq %rdx, %fs:PAGE_ID(%rax)
.Lpop_emptied:
	jmp .Lpop_released
	ENDFUNCTION __pcce_pop
.Lpop_end:

	RANGE __pcce_pop, .Lpop_gone, PUSHED
	RANGE .Lpop_gone, .Lpop_more, NOTHING
	RANGE .Lpop_more, .Lpop_released, PUSHED
	RANGE .Lpop_released, .Lpop_repeated, NOTHING
	RANGE .Lpop_repeated, .Lpop_uncounted, PUSHED
	RANGE .Lpop_uncounted, .Lpop_bottom, NOTHING
	RANGE .Lpop_bottom, .Lpop_emptied, PUSHED
	RANGE .Lpop_emptied, .Lpop_end, NOTHING

/*
 * Inline slots jump here; %r11 is the address where to continue. For an unwinder the caller's frame
 * is the function itself, at that address: no word of the stack has moved.
 */
	.globl __pcce_push_slow
	.hidden __pcce_push_slow
	.type __pcce_push_slow, @function
__pcce_push_slow:
	.cfi_startproc simple
	.cfi_def_cfa %rsp, 0
	.cfi_register %rip, %r11
	call __pcce_push
.Lpush_slow_done:
	notrack jmp *%r11
	ENDFUNCTION __pcce_push_slow
.Lpush_slow_end:
	RANGE __pcce_push_slow, .Lpush_slow_done, NOTHING
	RANGE .Lpush_slow_done, .Lpush_slow_end, PUSHED

	.globl __pcce_pop_slow
	.hidden __pcce_pop_slow
	.type __pcce_pop_slow, @function
__pcce_pop_slow:
	.cfi_startproc simple
	.cfi_def_cfa %rsp, 0
	.cfi_register %rip, %r11
	call __pcce_pop
.Lpop_slow_done:
	notrack jmp *%r11
	ENDFUNCTION __pcce_pop_slow
.Lpop_slow_end:
	RANGE __pcce_pop_slow, .Lpop_slow_done, PUSHED
	RANGE .Lpop_slow_done, .Lpop_slow_end, NOTHING

/*
 * void __pcce_restore(u64 id, u64 position, u64 site): an ordinary function. It sets {id, position,
 * site word of the top entry} to what they were when the caller was entered, and then clears ext.
 * position is the page's word of off and place.
 *
 * The stack has only grown since, so all entries below are intact. The site is restored because its
 * count may have grown. While the site is written, its entry is an inner one or the top one, so a
 * signal handler in between does not change it. The base of a segment is never written.
 *
 * If the page is shared, nothing changes.
 *
 * off is written last. This removes the record of a jump (PCCE_COUNT_JUMP), which says the same
 * until then. From there on ext has no meaning: it names a call of setjmp, with which the state is
 * the function's own, or a leaf that an exception has left.
 *
 * r11 is the key of the restore site (plugin/stale.c). After an exception the state is known until
 * the site is written, since off is still what it was at the throw. If the site does not change, as
 * usual, the state is known up to the end.
 */
	FUNCTION __pcce_restore
	PAGE_OFFSET %rax
	testl $STATE_SHARED, %fs:PAGE_STATE(%rax)
	jnz .Lrestore_shared
	movq %rsi, %rcx
	shrq $32 + PLACE_SHIFT, %rcx
	movl %fs:PAGE_PLACE(%rax), %r8d
	shrl $PLACE_SHIFT, %r8d
	cmpl %ecx, %r8d
	jne .Lrestore_far
	movq %rdi, %fs:PAGE_ID(%rax)
	movl %esi, %ecx
	testl $OFF_USED, %ecx
	jz .Lrestore_off
	cmpq %rdx, %fs:TOP_SITE(%rax, %rcx)
	jne .Lrestore_site
.Lrestore_off:
	movl %ecx, %fs:PAGE_OFF(%rax)
.Lrestore_done:
	movq $0, %fs:PAGE_EXT(%rax)
	ret
.Lrestore_site:
	movq %rdx, %fs:TOP_SITE(%rax, %rcx)
.Lrestore_written:
	movl %ecx, %fs:PAGE_OFF(%rax)
.Lrestore_end:
	jmp .Lrestore_done
.Lrestore_far:
	pushq %r11
	.cfi_adjust_cfa_offset 8
	call __pcce_restore_far
.Lrestore_back:
	popq %r11
	.cfi_adjust_cfa_offset -8
.Lrestore_found:
	PAGE_OFFSET %rax
	jmp .Lrestore_done
.Lrestore_shared:
	pushq %r11
	.cfi_adjust_cfa_offset 8
	call __pcce_unknown_left
	popq %r11
	.cfi_adjust_cfa_offset -8
	jmp .Lrestore_found
	ENDFUNCTION __pcce_restore
.Lrestore_last:
	RANGE __pcce_restore, .Lrestore_done, LANDING
	RANGE .Lrestore_done, .Lrestore_site, LANDED
	RANGE .Lrestore_site, .Lrestore_written, LANDING
	RANGE .Lrestore_written, .Lrestore_end, RESTORING
	RANGE .Lrestore_end, .Lrestore_far, LANDED
	RANGE .Lrestore_far, .Lrestore_back, LANDING
	RANGE .Lrestore_back, .Lrestore_found, RESTORING
	RANGE .Lrestore_found, .Lrestore_last, LANDED
	.globl __pcce_ranges_end
	.hidden __pcce_ranges_end
__pcce_ranges_end:

/*
 * The paths through C, where %r11 cannot be kept; they are in no range. ext names the slot instead,
 * by the value of %r11. The helpers jump here with rax, rcx and rdx saved. The function's arguments
 * are that value, and the stack pointer in the slot. r10b has its result.
 */
.macro DETOUR name, function, back
	.type \name, @function
\name:
	.cfi_startproc
	.cfi_def_cfa_offset 32
	.cfi_offset %rax, -16
	.cfi_offset %rcx, -24
	.cfi_offset %rdx, -32
	SAVE r11
	SAVE rsi
	SAVE rdi
	SAVE r8
	SAVE r9
	SAVE rbp
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	movq %r11, %rdi
	leaq 80(%rsp), %rsi
	subq $256, %rsp
	andq $-16, %rsp
	call \function
	movl %eax, %r10d
	movq %rbp, %rsp
	.cfi_def_cfa_register %rsp
	UNSAVE rbp
	UNSAVE r9
	UNSAVE r8
	UNSAVE rdi
	UNSAVE rsi
	UNSAVE r11
	PAGE_OFFSET %rax
	jmp \back
	ENDFUNCTION \name
.endm

	DETOUR __pcce_up_detour, __pcce_segment_up, .Lpush_higher
	DETOUR __pcce_down_detour, __pcce_segment_down, .Lpop_lower
	DETOUR __pcce_unknown_detour, __pcce_unknown_pop, .Lpop_judged

/* Never executed: pcce-encode reads here where the page is. */
__pcce_tls_insn:
	PAGE_OFFSET %r11
	ret

	.pushsection .pcce_entries, "R", @progbits
	.quad 0x33544e4545434350
	.quad __pcce_push
	.quad __pcce_pop
	.quad __pcce_push_slow
	.quad __pcce_pop_slow
	.quad __pcce_tls_insn
	.quad __pcce_leaf
	.quad __pcce_text
	.quad __pcce_runtime_text_end
	.popsection

	.section .note.GNU-stack, "", @progbits
