/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Its unwind information leads from each frame to the same one, as that of an interrupted function:
 * the return address is where it is, and the caller's stack pointer is its own.
 */
	.text
	.globl	main
	.type	main, @function
main:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 2, 0x77, 8	/* the frame ends at rsp + 8 */
	.cfi_escape 0x10, 16, 2, 0x77, 0	/* rip is at rsp */
	.cfi_escape 0x10, 7, 2, 0x77, 8	/* rsp is at rsp + 8 */
	lea	-16(%rsp), %rdx
	push	%rdx
	lea	1f(%rip), %rax
	push	%rax
	mov	$500000000, %ecx
1:	dec	%ecx
	jne	1b
	pop	%rax
	pop	%rax
	xor	%eax, %eax
	ret
	.cfi_endproc
	.size	main, . - main
	.section .note.GNU-stack, "", @progbits
