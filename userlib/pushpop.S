/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The helpers that slots call: push, pop, and the restoration after a non-local
 * jump.  docs/slots.md says how they are entered, include/pcce/abi.h what they do to
 * the page, include/pcce/table.h what an instruction pointer in here means.
 *
 * The same source serves executables (libpcce.a) and shared libraries
 * (libpcce_dso.a, libpcce.so): see page_offset.h.  All symbols are hidden, so that each module
 * has its own copy and a slot reaches it with a plain near call.
 *
 * Three rules rule every instruction here.
 *
 *  1. Any instruction may be interrupted by a sampler, and its address alone tells
 *     which steps have been done.  RANGE() names the meaning of each stretch of code;
 *     the stretches cover all bytes from __pcce_text to __pcce_ranges_end.  %r11
 *     holds the key (push) or the slot's end (pop) at each of them.
 *  2. Any instruction may be interrupted by a signal handler that pushes and pops
 *     in turn.  Such a handler leaves off, the spill count and the live entries
 *     as they were, but it overwrites what is above them.  So: claim, then fill;
 *     and restore the id, then release.
 *  3. All registers keep their values, and the 16 bytes at -128(%rsp) of the caller
 *     stay untouched: at most 14 words may be pushed here.  Flags are free.
 *
 * The marker, entry[PCCE_PAGE_ENTRIES], is written before off moves onto it, in
 * one instruction with n = 1 already in it; and the pop of the last spilled entry
 * moves off back and leaves the marker alone.  So off == PCCE_OFF_SPILLED always
 * means n >= 1, and a handler between the two finds either the one state or the other.
 *
 * An inline pop on an empty stack (that is a bug, or coroutines that migrate
 * between threads) would make off negative: the runtime puts a count into
 * page.base, which leads such a pop to __pcce_pop_slow, where the id becomes
 * PCCE_ID_LOST and nothing else happens.
 */
#include <cet.h>
#include "asm.h"

/* As in abi.h; tests/runtime/test_pushpop.c fails where these differ. */
#define NEW_ID 128 /* of the entry at off */
#define NEW_SITE 136
#define MARKER (NEW_SITE + OFF_LIMIT)
#define SPILL_ENTRIES (1 << 20)
#define COUNT_MAX 0xffef
#define MARK_WORD 0xffff000000000000
#define ID_LOST 0xc000000000000000

#define NOTHING 0
#define CLAIMED 1
#define PUSHED 2
#define RESTORING 3


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
__pcce_text:

/*
 * Registers: rax the page's offset from %fs, rcx off, rdx scratch or the id.
 */
	FUNCTION __pcce_push
	SAVE rax
	SAVE rcx
	SAVE rdx
	PAGE_OFFSET %rax
.Lpush_again:
	movl %fs:PAGE_OFF(%rax), %ecx
	cmpl $OFF_LIMIT, %ecx
	ja .Lpush_spilled
	movq %fs:PAGE_ID(%rax), %rdx
	cmpq %fs:TOP_ID(%rax, %rcx), %rdx
	je .Lpush_repeated
.Lpush_new:
	cmpl $OFF_LIMIT, %ecx
	je .Lpush_first_spill
	addl $16, %fs:PAGE_OFF(%rax)
.Lpush_claimed:
	movq %r11, %fs:NEW_SITE(%rax, %rcx)
	movq %rdx, %fs:NEW_ID(%rax, %rcx)
.Lpush_done:
	movq $0, %fs:PAGE_ID(%rax)
.Lpush_pushed:
	movq $0, %fs:PAGE_EXT(%rax)
	.cfi_remember_state
	UNSAVE rdx
	UNSAVE rcx
	UNSAVE rax
	ret
	.cfi_restore_state
.Lpush_repeated_start:

	/* The same id as the top entry's: if the site is the same too and its count not
	 * exhausted, count is in the low 16 bits of the rotated difference, and all
	 * others are 0.  One instruction claims and fills. */
.Lpush_repeated:
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

	/* The page is full. The area is asked for here only, while n is 0: whether there is one
	 * does not change while entries are beyond the page. */
.Lpush_first_spill:
	cmpq $0, %fs:PAGE_SPILL(%rax)
	jne .Lpush_reserved
	movq %r11, %fs:PAGE_EXT(%rax)
	jmp __pcce_reserve_detour
.Lpush_reserved:
	movq $0, %fs:PAGE_EXT(%rax)
	movabsq $MARK_WORD + 1, %rcx
	movq %rcx, %fs:MARKER(%rax)
	movl $OFF_SPILLED, %fs:PAGE_OFF(%rax)
.Lpush_spill_claimed:
	movq %fs:MARKER(%rax), %rcx
	shlq $16, %rcx
	shrq $16, %rcx
	cmpq $SPILL_ENTRIES, %rcx
	ja .Lpush_done
	cmpq $0, %fs:PAGE_SPILL(%rax)
	je .Lpush_done
	shlq $4, %rcx
	addq %fs:PAGE_SPILL(%rax), %rcx
	movq %r11, -8(%rcx)
	movq %rdx, -16(%rcx)
	jmp .Lpush_done
.Lpush_spilled:
	cmpl $OFF_SPILLED, %ecx
	jne .Lpush_bad
	movq %fs:PAGE_ID(%rax), %rdx
	incq %fs:MARKER(%rax)
.Lpush_spill_counted:
	jmp .Lpush_spill_claimed
	/* No off of ours: begin again with an empty stack rather than write outside the page. */
.Lpush_bad:
	movl $0, %fs:PAGE_OFF(%rax)
	jmp .Lpush_again
	ENDFUNCTION __pcce_push
.Lpush_end:

	RANGE __pcce_push, .Lpush_claimed, NOTHING
	RANGE .Lpush_claimed, .Lpush_pushed, CLAIMED
	RANGE .Lpush_pushed, .Lpush_repeated_start, PUSHED
	RANGE .Lpush_repeated_start, .Lpush_counted, NOTHING
	RANGE .Lpush_counted, .Lpush_differs, PUSHED
	RANGE .Lpush_differs, .Lpush_spill_claimed, NOTHING
	RANGE .Lpush_spill_claimed, .Lpush_spilled, CLAIMED
	RANGE .Lpush_spilled, .Lpush_spill_counted, NOTHING
	RANGE .Lpush_spill_counted, .Lpush_bad, CLAIMED
	RANGE .Lpush_bad, .Lpush_end, NOTHING

/*
 * The inverse.  id first (harmless to repeat: the top entry still stands), then one
 * instruction releases.
 */
	FUNCTION __pcce_pop
	SAVE rax
	SAVE rcx
	SAVE rdx
	PAGE_OFFSET %rax
	movq $0, %fs:PAGE_EXT(%rax)
.Lpop_again:
	movl %fs:PAGE_OFF(%rax), %ecx
	cmpl $OFF_LIMIT, %ecx
	ja .Lpop_spilled
	testl %ecx, %ecx
	jz .Lpop_empty
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

.Lpop_spilled:
	cmpl $OFF_SPILLED, %ecx
	jne .Lpop_empty
	movq %fs:MARKER(%rax), %rcx
	shlq $16, %rcx
	shrq $16, %rcx
	jz .Lpop_no_spill
	movabsq $ID_LOST, %rdx
	cmpq $SPILL_ENTRIES, %rcx
	ja .Lpop_lost
	cmpq $0, %fs:PAGE_SPILL(%rax)
	je .Lpop_lost
	shlq $4, %rcx
	addq %fs:PAGE_SPILL(%rax), %rcx
	movq -16(%rcx), %rdx
	subq %fs:PAGE_SPILL(%rax), %rcx
	shrq $4, %rcx
.Lpop_lost:
	movq %rdx, %fs:PAGE_ID(%rax)
	cmpq $1, %rcx
	je .Lpop_last_spilled
	decq %fs:MARKER(%rax)
.Lpop_spill_released:
	jmp .Lpop_released
.Lpop_last_spilled:
	movl $OFF_LIMIT, %fs:PAGE_OFF(%rax)
.Lpop_last_released:
	jmp .Lpop_released

	/* Not a state of ours, but one to survive. */
.Lpop_no_spill:
	movl $OFF_LIMIT, %fs:PAGE_OFF(%rax)
	jmp .Lpop_again

.Lpop_empty:
	movabsq $ID_LOST, %rdx
	movq %rdx, %fs:PAGE_ID(%rax)
.Lpop_emptied:
	jmp .Lpop_released
	ENDFUNCTION __pcce_pop
.Lpop_end:

	RANGE __pcce_pop, .Lpop_released, PUSHED
	RANGE .Lpop_released, .Lpop_repeated, NOTHING
	RANGE .Lpop_repeated, .Lpop_uncounted, PUSHED
	RANGE .Lpop_uncounted, .Lpop_spilled, NOTHING
	RANGE .Lpop_spilled, .Lpop_spill_released, PUSHED
	RANGE .Lpop_spill_released, .Lpop_last_spilled, NOTHING
	RANGE .Lpop_last_spilled, .Lpop_last_released, PUSHED
	RANGE .Lpop_last_released, .Lpop_no_spill, NOTHING
	RANGE .Lpop_no_spill, .Lpop_emptied, PUSHED
	RANGE .Lpop_emptied, .Lpop_end, NOTHING

/*
 * Inline slots jump here; %r11 says where to go on.  For an unwinder the caller's
 * frame is the function itself, at that place: no word of the stack was moved.
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
 * void __pcce_restore(u64 id, u32 off, u64 word): an ordinary function.  Makes {id,
 * off, site word of the top entry} what they were when the caller was entered; the
 * caller clears ext itself when this is done.  The
 * stack has only grown since, so all entries below are intact; the word is
 * restored because its count may have grown.  While it is written, what it belongs to is an
 * inner entry or the top one, so a signal handler in between changes nothing of it.
 * page.base is never written.
 *
 * off last, or, where entries stay beyond the page, the word with their number: this takes
 * the record of a jump away (PCCE_COUNT_JUMP), which says the same until then.
 */
	FUNCTION __pcce_restore
	PAGE_OFFSET %rax
	movq %rdi, %fs:PAGE_ID(%rax)
	testl %esi, %esi
	jz .Lrestore_off
	movq %rdx, %fs:TOP_SITE(%rax, %rsi)
.Lrestore_off:
	movl %esi, %fs:PAGE_OFF(%rax)
	ret
	ENDFUNCTION __pcce_restore
.Lrestore_end:
	RANGE __pcce_restore, .Lrestore_end, RESTORING
__pcce_ranges_end:

/*
 * Not part of a range: a first spill's detour through C, in which %r11 cannot be kept.
 * ext names the site instead, as for any call into code without slots; the state is
 * still the caller's own.  From inside __pcce_push, with rax, rcx and rdx saved.
 */
	.type __pcce_reserve_detour, @function
__pcce_reserve_detour:
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
	SAVE r10
	SAVE rbp
	movq %rsp, %rbp
	.cfi_def_cfa_register %rbp
	subq $256, %rsp
	andq $-16, %rsp
	call __pcce_spill_reserve
	movq %rbp, %rsp
	.cfi_def_cfa_register %rsp
	UNSAVE rbp
	UNSAVE r10
	UNSAVE r9
	UNSAVE r8
	UNSAVE rdi
	UNSAVE rsi
	UNSAVE r11
	PAGE_OFFSET %rax
	movq %fs:PAGE_ID(%rax), %rdx
	jmp .Lpush_reserved
	ENDFUNCTION __pcce_reserve_detour

/* Never run: encode reads from it where the page is. */
__pcce_tls_insn:
	PAGE_OFFSET %r11
	ret

	.pushsection .pcce_entries, "R", @progbits
	.quad 0x31544e4545434350
	.quad __pcce_push
	.quad __pcce_pop
	.quad __pcce_push_slow
	.quad __pcce_pop_slow
	.quad __pcce_tls_insn
	.quad __pcce_text
	.quad __pcce_runtime_text_end
	.popsection

	.section .note.GNU-stack, "", @progbits
