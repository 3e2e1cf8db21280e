/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The note of an encoded module: struct pcce_note (include/pcce/dictionary.h). "R": --gc-sections
 * keeps it. */
#include <cet.h>
	.section .note.pcce, "aR", @note
	.p2align 2
	.long 5
	.long 24
	.long 1
	.asciz "pcce"
	.p2align 2
	.zero 16
	.long __pcce_text - .
	.long __pcce_ranges_end - .
	.section .note.GNU-stack, "", @progbits
