# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Two functions as the plugin leaves them when it compiles without -fPIC: f calls g 200 times, in slots
# of 13 bytes, which is too little for large values in a shared library. With --defsym FULL=1,
# a slot holds something else than nops.
	.include "site_records.inc"

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
	block f, .Le1, 201
	.set n, 0
	.rept 200
	.macro RECORD number
	site .Lb\number-f, .La\number-f, 13, 13, 0, 1024, 1
	.endm
	RECORD %n
	.purgem RECORD
	.set n, n + 1
	.endr
	site .Lfull-f, .La-f, 13, 13, 0, 1024, 2
	end_block f
	block g, .Le2, 0
	end_block g
	.section .note.GNU-stack, "", @progbits
