/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Marks the end of the runtime's code: linked last into its one relocatable object. */
#include <cet.h>
	.text
	.globl __pcce_runtime_text_end
	.hidden __pcce_runtime_text_end
__pcce_runtime_text_end:
	.section .note.GNU-stack, "", @progbits
