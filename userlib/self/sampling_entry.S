/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Receives the signal of the self sampler. self_on_signal() (signal.c) takes the sample, or
 * says that the program's handler is to run. That handler is entered as all others are, by
 * __pcce_signal_entry, which needs the stack as the kernel has left it.
 *
 * void __pcce_sampling_entry(int sig, siginfo_t *info, void *ucontext);
 */
#include "base/asm.h"

	.text
	.p2align 4
	.globl	__pcce_sampling_entry
	.hidden	__pcce_sampling_entry
	.type	__pcce_sampling_entry, @function
__pcce_sampling_entry:
	.cfi_startproc
	endbr64
	SAVE	rdi
	SAVE	rsi
	SAVE	rdx
	call	self_on_signal
	UNSAVE	rdx
	UNSAVE	rsi
	UNSAVE	rdi
	test	%al, %al
	jne	.Lpass_on
	ret	/* to the C library's restorer */
.Lpass_on:
	jmp	__pcce_signal_entry
	.cfi_endproc
	.size	__pcce_sampling_entry, . - __pcce_sampling_entry

	.section .note.GNU-stack, "", @progbits
