# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Two functions as the plugin leaves them when it compiles without -fPIC: f calls g 200 times, in slots
# of 13 bytes, which is too little for large values in a shared library. With --defsym FULL=1,
# a slot holds something else than nops.
	.text
	.globl f
	.type f, @function
f:
	.set n, 0
	.rept 200
	.altmacro
	.macro CALL_G number
.Lb\number:
	.nops 13
	call g
.La\number:
	.nops 13
	.endm
	CALL_G %n
	.purgem CALL_G
	.set n, n + 1
	.endr
	.ifdef FULL
.Lfull:	.fill 12, 1, 0x50
	ret
	.else
.Lfull:	.nops 13
	.endif
	call g
.La:	.nops 13
	ret
.Le1:
	.size f, . - f
	.type g, @function
g:
	lea 1(%rdi), %eax
	ret
.Le2:
	.size g, . - g

	.section .pcce_sites, "o", @progbits, .text
	.balign 8
	.quad 0x000742454343504c, f, f
	.long 64 + (201 * 28 + 2 + 7) / 8 * 8, .Le1 - f, 201, 0
	.long 0, 0
	.quad 0
	.long 0, 0
	.set n, 0
	.rept 200
	.macro RECORD number
	.long .Lb\number - f, .La\number - f
	.endm
	RECORD %n
	.purgem RECORD
	.byte 13, 13
	.value 0
	.long 1024, 1, 0, 0
	.set n, n + 1
	.endr
	.long .Lfull - f, .La - f
	.byte 13, 13
	.value 0
	.long 1024, 2, 0, 0
	.string "f"
	.balign 8
	.quad 0x000742454343504c, g, g
	.long 72, .Le2 - g, 0, 0
	.long 0, 0
	.quad 0
	.long 0, 0
	.string "g"
	.balign 8
	.section .note.GNU-stack, "", @progbits
